import { html, type TemplateResult } from 'lit-html';

/** A table that is moved sideways, by the keyboard too, where it is too wide. */
export const tableView = (label: string, heads: readonly string[], rows: readonly unknown[]): TemplateResult =>
  html`<div class="scroll" tabindex="0" role="group" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
