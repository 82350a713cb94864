"""How the page looks: system fonts, one accent, room to breathe; light and dark alike."""

from __future__ import annotations

from zerokin.report.figures import SEEN, UNSEEN

CSS = f"""
.gradio-container {{ width: 100% !important; max-width: 1120px !important; min-width: 0 !important;
  margin: 0 auto !important; }}
.gradio-container .main {{ width: 100% !important; box-sizing: border-box;
  padding: 1rem clamp(.5rem, 3vw, 2rem) !important; }}
#image img {{ width: 100%; height: 100%; object-fit: contain; }}
.zk-title h1 {{ font-size: 1.5rem; margin: .4rem 0 0; }}
.zk-title p {{ margin: .1rem 0 .4rem; color: var(--body-text-color-subdued); }}
.zk-answer h2 {{ font-size: 1.6rem; margin: 0; line-height: 1.25; overflow-wrap: anywhere; }}
.zk-answer h3 {{ font-size: .95rem; font-weight: 600; margin: 1.3rem 0 .4rem; }}
.zk-answer small {{ color: var(--body-text-color-subdued); }}
.zk-head {{ border-left: 4px solid {SEEN}; padding: .1rem 0 .1rem .8rem; }}
.zk-head p {{ margin: .2rem 0 0; color: var(--body-text-color-subdued); }}
.zk-head.zk-none {{ border-color: #8A8A8A; }}
.zk-path {{ display: flex; flex-wrap: wrap; gap: .3rem; list-style: none; padding: 0; margin: 0; }}
.zk-path li {{ margin: 0 !important; }}
.zk-path li + li::before {{ content: "›"; margin-right: .35rem; color: #8A8A8A; }}
.zk-answer table {{ width: 100%; border-collapse: collapse; border: 0; }}
.zk-ranked tr, .zk-ranked td, .zk-ranked th {{ border: 0 !important; background: none !important; }}
.zk-ranked th, .zk-ranked td {{ padding: .2rem .5rem .2rem 0 !important; text-align: left; }}
.zk-ranked th {{ font-weight: 500; width: 34%; overflow-wrap: anywhere; }}
.zk-role {{ color: var(--body-text-color-subdued); font-size: .85rem; width: 4rem; }}
.zk-bar {{ position: relative; }}
.zk-bar span {{ display: block; height: .8rem; border-radius: 3px; min-width: 2px; }}
.zk-bar .zk-seen {{ background: {SEEN}; }}
.zk-bar .zk-unseen {{ background: {UNSEEN}; }}
.zk-number {{ width: 4.2rem; text-align: right !important; font-variant-numeric: tabular-nums; }}
.zk-kin {{ display: flex; flex-wrap: wrap; gap: 1rem; }}
.zk-kin figure {{ margin: 0; max-width: 190px; }}
.zk-images {{ display: flex; gap: .25rem; }}
.zk-images img {{ width: 88px; height: 88px; object-fit: cover; border-radius: 6px; margin: 0; }}
.zk-kin figcaption small {{ display: block; }}
.zk-kin figcaption {{ font-size: .9rem; margin-top: .25rem; overflow-wrap: anywhere; }}
.zk-note {{ padding: .55rem .8rem; border-radius: 6px; margin: .3rem 0;
  background: var(--background-fill-secondary); overflow-wrap: anywhere; }}
.zk-good {{ border-left: 4px solid #009E73; }}
.zk-bad {{ border-left: 4px solid #D55E00; }}
.zk-skipped {{ font-size: .9rem; color: var(--body-text-color-subdued); }}
.zk-scroll {{ overflow-x: auto; }}
.zk-batch td, .zk-batch th {{ padding: .3rem .5rem !important; text-align: left;
  border-color: var(--border-color-primary) !important; }}
.zk-button, a.zk-button {{ display: inline-block; padding: .5rem 1rem; border-radius: 6px;
  background: {SEEN}; color: white !important; text-decoration: none !important; }}
.zk-legend span {{ display: inline-block; width: .8rem; height: .8rem; border-radius: 3px;
  margin: 0 .3rem 0 .8rem; vertical-align: -1px; }}
@media (max-width: 640px) {{
  .zk-role {{ display: none; }}
  .tab-container button {{ padding-left: .55rem !important;
    padding-right: .55rem !important; }}
  .zk-ranked th {{ width: 42%; }}
  .zk-images img {{ width: 72px; height: 72px; }}
}}
"""
