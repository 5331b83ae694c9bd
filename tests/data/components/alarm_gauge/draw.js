import { steps } from "./steps.js";

export const draw = ({ value, unit = "", readings = [] }, { html, svg }) => html`
  <meter min="0" max="100" value=${value} aria-label="Value">${value}</meter>
  <strong>${value} ${unit}</strong>
  <svg viewBox="0 0 100 20" aria-hidden="true">
    ${steps(readings).map(
      ({ x, height }) =>
        svg`<rect class="s1" x=${x} y=${20 - height} width="4" height=${height}></rect>`,
    )}
  </svg>
`;
