"""Long runs, collected only when named: pytest scenarios/soak"""
