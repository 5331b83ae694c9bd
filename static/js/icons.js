/** Drawings of 20 by 20, in the colour of the text around them; never read aloud. */

import { html, svg } from "../vendor/lit-html/lit-html.js";

export const icon = (content) =>
  html`<svg
    class="icon"
    viewBox="0 0 20 20"
    width="18"
    height="18"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    ${content}
  </svg>`;

export const icons = {
  plus: icon(svg`<path d="M10 4v12M4 10h12" />`),
  menu: icon(svg`<path d="M3 6h14M3 10h14M3 14h9" />`),
  pencil: icon(svg`<path d="m12.5 4.5 3 3L7 16l-3.6.6L4 13z" />`),
  bin: icon(svg`<path d="M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10M8.5 9v4.5M11.5 9v4.5" />`),
  copy: icon(
    svg`<rect x="7" y="7" width="9" height="9" rx="2" />
      <path d="M13 7V5a2 2 0 0 0-2-2H5a2 2 0 0 0-2 2v6a2 2 0 0 0 2 2h2" />`,
  ),
  pin: icon(svg`<path d="M7.5 3.5h5l-.6 5 2.6 2.5v1.5h-9V11l2.6-2.5zM10 12.5v4.5" />`),
  archive: icon(svg`<path d="M3.5 4h13v3.5h-13zM4.5 7.5V16h11V7.5M8 10.5h4" />`),
  check: icon(svg`<path d="m4.5 10.5 3.5 3.5 7.5-8" />`),
  cross: icon(svg`<path d="m5 5 10 10M15 5 5 15" />`),
  again: icon(svg`<path d="M16 10a6 6 0 1 1-1.8-4.3M16 3v3.5h-3.5" />`),
  down: icon(svg`<path d="M10 4v12M5 11l5 5 5-5" />`),
  back: icon(svg`<path d="m13 5-5 5 5 5" />`),
  chevron: icon(svg`<path d="m7 5 5 5-5 5" />`),
  tool: icon(
    svg`<path d="M12.2 3.3a4 4 0 0 0-4.6 5.3L3.4 12.8a1.9 1.9 0 0 0 2.7 2.7l4.3-4.2
      a4 4 0 0 0 5.2-4.7L13.2 9 11 6.8z" />`,
  ),
  keyboard: icon(
    svg`<rect x="2.5" y="5" width="15" height="10" rx="2" />
      <path d="M5.5 8h.1M8.5 8h.1M11.5 8h.1M14.5 8h.1M6.5 12h7" />`,
  ),
  pulse: icon(svg`<path d="M2.5 10h3.5l2-5.5 4 11 2-5.5h3.5" />`),
  sun: icon(
    svg`<circle cx="10" cy="10" r="3.2" />
      <path d="M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4
      M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4" />`,
  ),
  moon: icon(svg`<path d="M16 11.8A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.8z" />`),
  auto: icon(
    svg`<circle cx="10" cy="10" r="6.5" />
      <path d="M10 3.5v13a6.5 6.5 0 0 0 0-13z" fill="currentColor" />`,
  ),
  warning: icon(svg`<path d="M10 3.5 17.5 16h-15zM10 8.5v3.5M10 14.2v.1" />`),
  info: icon(svg`<circle cx="10" cy="10" r="7" /><path d="M10 9v4.5M10 6.5v.1" />`),
  person: icon(svg`<circle cx="10" cy="7" r="3.2" /><path d="M3.8 16.5a6.2 6.2 0 0 1 12.4 0" />`),
  shield: icon(
    svg`<path d="M10 3 4 5.2v4.6c0 3.4 2.4 6 6 7.2 3.6-1.2 6-3.8 6-7.2V5.2zM7.3 10l2 2 3.6-4" />`,
  ),
  clock: icon(svg`<circle cx="10" cy="10" r="7" /><path d="M10 6v4.2l2.8 1.8" />`),
  stopped: icon(svg`<circle cx="10" cy="10" r="7" /><path d="m5.5 5.5 9 9" />`),
  question: icon(
    svg`<circle cx="10" cy="10" r="7" />
      <path d="M8 8a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M10 13.7v.1" />`,
  ),
  thought: icon(
    svg`<path d="M6.5 13.5a4 4 0 1 1 .8-7.7 4.5 4.5 0 0 1 8.4 2.7 2.8 2.8 0 0 1-.7 5.5z" />
      <path d="M5 16.5v.1" />`,
  ),
};
