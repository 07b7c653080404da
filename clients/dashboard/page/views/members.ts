import { html, nothing, type TemplateResult } from 'lit-html';
import type { OwnerCard } from '../../contract/fleet.ts';
import { segmentsOf, type Counted, type Row } from '../pure/rows.ts';

/** Squares in rows; a row is headed only if there are several. */
export function squaresView({ namespace, name }: OwnerCard, rows: readonly Row[]): TemplateResult {
  return html`<div class="rows">
    ${rows.map((row) => {
      const { label, cells, missing } = row;
      const what = `VMs of ${name === '' ? namespace : name}${label === '' ? '' : `, ${label}`}`;
      return html`<div class="row">
        ${label === '' ? nothing : html`<p class="row-label">${label} <b>${cells.length}</b></p>`}
        ${
          cells.length + missing === 0
            ? html`<p class="none">none</p>`
            : html`<vm-squares .input=${{ row, name: what, namespace }}></vm-squares>`
        }
      </div>`;
    })}
  </div>`;
}

/** A bar in proportion, and what its parts mean. */
export function barView(card: Counted): TemplateResult {
  const segments = segmentsOf(card);
  return html`<div class="bar" aria-hidden="true">
      ${segments.map(({ state, count }) => html`<i data-s=${state === 'missing' ? 'none' : state} .style=${`flex-grow: ${count}`}></i>`)}
    </div>
    ${legendView(card)}`;
}

/** The numbers of VMs by state, with the square of each. */
export function legendView(card: Counted): TemplateResult {
  return html`<ul class="legend">
    ${segmentsOf(card).map(
      ({ state, label, count }) =>
        html`<li>
          <i data-s=${state === 'missing' ? 'none' : state} aria-hidden="true"></i>
          <b>${count.toLocaleString('en')}</b> ${label}
        </li>`,
    )}
  </ul>`;
}

/** The pages of many squares, or lines. */
export function pagesView(
  page: number,
  pages: number,
  hrefOfPage: (page: number) => string,
  total: string,
): TemplateResult {
  if (pages < 2) return html``;
  return html`<nav class="pages" aria-label="Pages">
    ${page > 1 ? html`<a href=${hrefOfPage(page - 1)} rel="prev">← previous</a>` : html`<span>← previous</span>`}
    <span>page ${page} of ${pages}, ${total}</span>
    ${page < pages ? html`<a href=${hrefOfPage(page + 1)} rel="next">next →</a>` : html`<span>next →</span>`}
  </nav>`;
}
