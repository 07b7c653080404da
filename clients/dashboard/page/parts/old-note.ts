import { html, nothing, type TemplateResult } from 'lit-html';

/** Says that what a view shows could not be read again. `old`: why not; null if it could. */
export const oldNote = ({ old }: { old: string | null }): TemplateResult | typeof nothing =>
  old === null ? nothing : html`<p class="note warn">This could not be read again, and may be old: ${old}</p>`;
