"""How the page looks: system fonts, one accent, room to breathe; light and dark alike.

Every text has a contrast of 4.5 at least (WCAG 2.2), and no color alone tells anything: what was
never seen also has a word, a mark and stripes.
"""

from __future__ import annotations

import gradio as gr

from zerokin.report.figures import SEEN, UNSEEN

FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif")
MONO = ("ui-monospace", "Menlo", "Consolas", "monospace")
SEEN_MARK, UNSEEN_MARK = "●", "★"  # the same however they are turned
STRIPES = f"repeating-linear-gradient(135deg, {UNSEEN} 0 5px, #FFFFFF99 5px 7px), {UNSEEN}"


def theme() -> gr.themes.Base:
    """Return colors and fonts; the fonts are the visitor's own, so none are fetched."""
    found = gr.themes.Default(
        primary_hue="blue", neutral_hue="gray", font=list(FONTS), font_mono=list(MONO)
    )
    return found.set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_label_text_color="*neutral_700",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        color_accent="*primary_600",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_border_color="*primary_600",
        link_text_color_visited="*secondary_600",
        link_text_color_dark="*secondary_400",
        link_text_color_visited_dark="*secondary_400",
    )


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
.zk-path li + li::before {{ content: "›"; margin-right: .35rem;
  color: var(--body-text-color-subdued); }}
.zk-answer table {{ width: 100%; border-collapse: collapse; border: 0; }}
.zk-ranked tr, .zk-ranked td, .zk-ranked th {{ border: 0 !important; background: none !important; }}
.zk-ranked th, .zk-ranked td {{ padding: .2rem .5rem .2rem 0 !important; text-align: left;
  vertical-align: middle !important; }}
.zk-ranked th {{ font-weight: 500; width: 34%; overflow-wrap: anywhere; }}
.zk-role {{ color: var(--body-text-color-subdued); font-size: .85rem; width: 5.2rem;
  white-space: nowrap; }}
.zk-mark {{ display: inline-block; width: 1.1em; }}
.zk-bar {{ position: relative; }}
.zk-bar span {{ display: block; height: .8rem; border-radius: 3px; min-width: 2px; }}
.zk-bar .zk-seen {{ background: {SEEN}; }}
.zk-bar .zk-unseen {{ background: {STRIPES}; }}
.zk-found {{ position: relative; display: inline-block; margin: .8rem 0; line-height: 0; }}
.zk-found img {{ margin: 0; border-radius: 6px; max-width: 100%; width: 30rem; }}
.zk-box {{ position: absolute; box-sizing: border-box; border: 3px solid {SEEN};
  border-radius: 4px; line-height: 1.3; }}
.zk-box.zk-unseen {{ border: 3px dashed {UNSEEN}; }}
.zk-box b {{ background: var(--body-background-fill); color: var(--body-text-color);
  padding: 0 .3rem; border-radius: 3px; font-size: .8rem; display: inline-block;
  margin-right: 2px; }}
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
#rings .js-plotly-plot {{ height: min(640px, 92vw); }}
.zk-entry {{ white-space: nowrap; margin-right: .9rem; }}
.zk-swatch {{ display: inline-block; width: .8rem; height: .8rem; border-radius: 3px;
  margin-right: .3rem; vertical-align: -1px; }}
.zk-striped {{ background-image: repeating-linear-gradient(135deg,
  transparent 0 3px, #FFFFFF99 3px 5px); }}
.dark {{ --color-accent: var(--primary-400); }}
.dark .zk-head:not(.zk-none) {{ border-color: var(--primary-400); }}
.zk-find {{ display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .7rem;
  margin: .2rem 0 .5rem; }}
.zk-find input {{ flex: 1 1 10rem; }}
.zk-count {{ color: var(--body-text-color-subdued); font-size: .9rem; flex: 1 0 100%; }}
.zk-editor input[type=search], .zk-editor input[type=number] {{ min-width: 0; font: inherit;
  padding: .3rem .5rem; color: var(--body-text-color); background: var(--input-background-fill);
  border: 1px solid var(--input-border-color); border-radius: var(--input-radius); }}
.zk-editor input::placeholder {{ color: var(--input-placeholder-color); opacity: 1; }}
.zk-editor input[type=range] {{ accent-color: var(--color-accent); min-width: 0; width: 100%; }}
.zk-attributes {{ list-style: none; margin: 0 !important; padding: .2rem .5rem !important;
  max-height: 24rem; overflow-y: auto; border: 1px solid var(--border-color-primary);
  border-radius: 6px; background: var(--background-fill-primary); }}
.zk-attributes li {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) 5rem;
  gap: .7rem; align-items: center; margin: .25rem 0 !important; }}
.zk-attributes li[hidden] {{ display: none; }}
.zk-attributes label {{ overflow-wrap: anywhere; }}
@media (max-width: 640px) {{
  .zk-role {{ width: 4.7rem; font-size: .8rem; }}
  .zk-number {{ width: 3.4rem; }}
  .zk-attributes {{ max-height: 60vh; }}
  .zk-attributes li {{ grid-template-columns: minmax(0, 1fr) 5rem; gap: .1rem .7rem; }}
  .zk-attributes li label {{ grid-column: 1 / -1; }}
  .tab-container button {{ padding-left: .55rem !important;
    padding-right: .55rem !important; }}
  .zk-images img {{ width: 72px; height: 72px; }}
}}
"""
