import { html, type TemplateResult } from 'lit-html';

/** A sentence of drover's, in which backticks enclose what can be typed. */
export const prose = (sentence: string): TemplateResult =>
  html`${sentence.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
