"""What must hold: the catalogue of requirements and laws as data, and which scenarios and mutants speak for each id."""

from lasttick.requirements.catalogue import Catalogue, Requirement, load_catalogue
from lasttick.requirements.collect import collect_claims, scenarios_folder
from lasttick.requirements.coverage import Claim, Coverage, coverage, wrong_claims
from lasttick.requirements.errors import CatalogueError
from lasttick.requirements.ids import matches, nearby, scenario_id

__all__ = [
    "Catalogue",
    "CatalogueError",
    "Claim",
    "Coverage",
    "Requirement",
    "collect_claims",
    "coverage",
    "load_catalogue",
    "matches",
    "nearby",
    "scenario_id",
    "scenarios_folder",
    "wrong_claims",
]
