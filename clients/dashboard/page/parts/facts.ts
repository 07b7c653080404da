import { html, nothing, type TemplateResult } from 'lit-html';

/** What is known, each by its name; null if nothing is. */
export const factsView = (facts: readonly (readonly [label: string, value: unknown])[]): TemplateResult =>
  html`<dl class="facts">
    ${facts.map(([label, value]) =>
      value === null
        ? nothing
        : html`<div>
            <dt>${label}</dt>
            <dd>${value}</dd>
          </div>`,
    )}
  </dl>`;
