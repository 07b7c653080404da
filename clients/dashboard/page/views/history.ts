import { html, nothing, type TemplateResult } from 'lit-html';
import type { HistoryEntry } from '../../contract/requests.ts';
import { prose } from '../parts/prose.ts';

/** What was done and told, the newest first, and what could not be read. */
export function historyView(entries: readonly HistoryEntry[], unknown: readonly string[]): TemplateResult {
  return html`${unknown.map((sentence) => html`<p class="note warn">${sentence}</p>`)}
  ${
    entries.length === 0
      ? html`<p class="empty">Nothing is on record.</p>`
      : html`<ol class="history">
          ${entries.map(
            ({ at, by, tone, what, sentence, count }) =>
              html`<li class=${tone}>
                <rel-time at=${at}></rel-time>
                <p><b>${what}</b> ${prose(sentence)}${count > 1 ? html` <small>${count} times</small>` : nothing}</p>
                <small>${by}</small>
              </li>`,
          )}
        </ol>`
  }`;
}

export const workflowLink = (url: string | null): TemplateResult | typeof nothing =>
  url === null
    ? nothing
    : html`<p><a href=${url} target="_blank" rel="noopener noreferrer">Its workflow in Temporal’s Web UI</a></p>`;
