"""How does the page look? One style sheet, in light and dark, for wide and narrow screens and for paper."""

STYLE = """
:root { color-scheme: light dark;
  --page: #ffffff; --text: #1c2128; --soft: #59636e; --line: #d8dee4; --card: #f6f8fa; --grid: #e6eaee;
  --pass: #1a7f37; --fail: #cf222e; --unsure: #9a6700; --na: #59636e;
  --ok: #4ac26b; --refused: #e0a92e; --error: #e5534b; --open: #a0a8b2; --mark: #6e7781; --trouble: #a475f9;
  --c0: #5b9bd5; --c1: #f0883e; --c2: #3bb5a0; --c3: #d2699e;
  --c4: #a98be0; --c5: #b3a33a; --c6: #7a8fa6; --c7: #c97b5a;
  --bar-text: #10151b; }
@media (prefers-color-scheme: dark) { :root {
  --page: #0d1117; --text: #e6edf3; --soft: #9198a1; --line: #30363d; --card: #151b23; --grid: #22282f;
  --pass: #3fb950; --fail: #f85149; --unsure: #d29922; --na: #9198a1; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 1.2rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.45rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
code, pre { font: 13px/1.5 ui-monospace, "Noto Sans Mono", "DejaVu Sans Mono", monospace; }
a { color: inherit; text-decoration-color: var(--soft); }
.soft { color: var(--soft); } .small { font-size: 13px; }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .6rem 0; }
.facts b { font-weight: 600; color: var(--soft); margin-right: .35rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .8rem 0; }
.count { border: 1px solid var(--line); border-left: 5px solid var(--na); border-radius: 4px; padding: .2rem .7rem; }
.count b { font-size: 1.25rem; margin-right: .3rem; } .count.none { opacity: .5; }
.count.pass { border-left-color: var(--pass); } .count.fail { border-left-color: var(--fail); }
.count.inconclusive { border-left-color: var(--unsure); }
.v { font-size: 12px; font-weight: 700; white-space: nowrap; color: var(--na); text-transform: uppercase; }
.v.pass { color: var(--pass); } .v.fail { color: var(--fail); } .v.inconclusive { color: var(--unsure); }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
th { width: 1%; font-size: 12px; color: var(--soft); font-weight: 600; }
th, td:first-child { white-space: nowrap; } th:last-child { width: auto; }
.checks { width: auto; } .checks td { padding: .1rem 1rem .1rem 0; border: 0; }
td ul { margin: .2rem 0 .2rem 1rem; padding: 0; }
summary { cursor: pointer; }
.scenario { border: 1px solid var(--line); border-left: 5px solid var(--na); border-radius: 4px; margin: .45rem 0; }
.scenario.pass { border-left-color: var(--pass); } .scenario.fail { border-left-color: var(--fail); }
.scenario.inconclusive { border-left-color: var(--unsure); }
.scenario > summary { padding: .35rem .7rem; } .scenario > summary code { font-weight: 600; margin: 0 .5rem; }
.scenario > div { padding: 0 .8rem .8rem; }
.story { margin: .3rem 0 .6rem; max-width: 90ch; }
.reason { white-space: pre-line; margin: .3rem 0; padding: .3rem .6rem; background: var(--card); border-radius: 4px; }
figure { margin: .9rem 0 .4rem; } figcaption { font-size: 13px; margin-bottom: .3rem; }
.lane { display: grid; grid-template-columns: 8.6rem 1fr; border-top: 1px solid var(--grid); }
.who { font-size: 13px; padding: 1px .4rem 0 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.who i { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 5px; }
.lane > svg { width: 100%; display: block; overflow: hidden; }
svg text { font: 11px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: var(--text); }
svg .bar text { fill: var(--bar-text); } svg .tick { fill: var(--soft); }
svg .grid { stroke: var(--grid); } svg .at { stroke: var(--fail); stroke-dasharray: 4 3; }
.ok { fill: var(--ok); background: var(--ok); } .refused { fill: var(--refused); background: var(--refused); }
.error { fill: var(--error); background: var(--error); } .open { fill: var(--open); background: var(--open); }
.mark { fill: var(--mark); background: var(--mark); } .quiet { fill: none; stroke: var(--mark); }
.trouble { fill: var(--trouble); background: var(--trouble); }
.clash { fill: var(--fail); background: var(--fail); }
.held rect { opacity: .55; } svg .held text { fill: var(--text); }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .c7 { fill: var(--c7); background: var(--c7); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 12px; height: 9px; border-radius: 2px; margin-right: 5px; }
.events pre { overflow-x: auto; background: var(--card); padding: .5rem; border-radius: 4px; margin: .3rem 0; }
@media (max-width: 720px) {
  body { padding: .7rem; font-size: 14px; }
  .lane { grid-template-columns: 1fr; } .who { padding-top: 3px; }
  svg .after, svg .second { display: none; }
}
@media print { .scenario { break-inside: avoid; } }
"""
