import { html, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { BudgetCard } from '../../contract/fleet.ts';
import { prose } from '../parts/prose.ts';
import type { Page } from '../state/page.ts';

/** How many VMs may go down, what takes the room, and what waits. */
export function budgetsView({ client }: Page): TemplateResult {
  const all = [...client.fleet.items.budgets.values()].sort((a, b) => a.id.localeCompare(b.id));
  return html`<h1 tabindex="-1">Budgets</h1>
    ${
      all.length === 0
        ? html`<p class="empty">${client.fleet.isSynced ? 'There is none.' : 'Loading…'}</p>`
        : html`<ul class="list budgets">
            ${repeat(all, ({ id }) => id, rowView)}
          </ul>`
    }`;
}

const rowView = ({ namespace, name, state, tone, numbers, lines }: BudgetCard): TemplateResult =>
  html`<li>
    <p class="name"><b>${name}</b> <small>${namespace ?? 'cluster-wide'}</small></p>
    <p><span class="key ${tone}">${state}</span></p>
    <p>${numbers}</p>
    <div>${lines.map((line) => html`<p class="muted">${prose(line)}</p>`)}</div>
  </li>`;
