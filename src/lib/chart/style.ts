/**
 * Colours of a chart that stands alone, light and dark; the console's style sheet has its own. The
 * text is constant, so that nothing in it needs an escape.
 */
import { type Html, html } from '../html.ts';

export const CHART_STYLE: Html = html`
.chart,figcaption{--paper:#fff;--text:#1a1f27;--soft:#565f6d;--line:#d9dde3;
--t0:#2563a8;--t1:#c2700c;--t2:#2f7d4f;--t3:#b3303c;
--t4:#7152a8;--t5:#0f7f8a;--t6:#8a6d1d;--t7:#6b7280}
@media (prefers-color-scheme:dark){.chart,figcaption{--paper:#1a2029;--text:#e6e9ee;--soft:#a3acb9;
--line:#333c48;--t0:#7fb0ee;--t1:#efa54a;--t2:#6cc28f;--t3:#ee8089;--t4:#b79df0;--t5:#5cc5d0;
--t6:#d6bb62;--t7:#a3acb9}}
@media print{.chart,figcaption{--paper:#fff;--text:#000;--soft:#333;--line:#bbb;
--t0:#2563a8;--t1:#c2700c;--t2:#2f7d4f;--t3:#b3303c;
--t4:#7152a8;--t5:#0f7f8a;--t6:#8a6d1d;--t7:#6b7280}}
.chart text{font-family:system-ui,sans-serif}
.chart .paper{fill:var(--paper)}
.chart .title{fill:var(--text);font-size:16px;font-weight:600}
.chart .key{fill:var(--text);font-size:11px}
.chart .tick{fill:var(--soft);font-size:11px}
.chart .rule{stroke:var(--line)}
.chart .zero{stroke:var(--soft)}
.chart .bar,.chart .mark{fill:currentColor}
.chart .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
.tone-0{color:var(--t0)}.tone-1{color:var(--t1)}.tone-2{color:var(--t2)}.tone-3{color:var(--t3)}
.tone-4{color:var(--t4)}.tone-5{color:var(--t5)}.tone-6{color:var(--t6)}.tone-7{color:var(--t7)}
`;
