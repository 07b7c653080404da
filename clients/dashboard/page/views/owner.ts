import { html, nothing, type TemplateResult } from 'lit-html';
import { guard } from 'lit-html/directives/guard.js';
import type { OwnerCard, VmCell } from '../../contract/fleet.ts';
import type { OwnerDetails } from '../../contract/requests.ts';
import { actionButtons } from '../parts/buttons.ts';
import { loadedView } from '../parts/loaded.ts';
import { tableView } from '../parts/table.ts';
import { counted, kindLabel, STATES } from '../pure/labels.ts';
import { hrefOf, type Route } from '../pure/route.ts';
import { MOST_SQUARES, pageOf, revisionName, rowsOf } from '../pure/rows.ts';
import type { Page } from '../state/page.ts';
import { gitOpsBadge, readyView, subjectOf } from './card.ts';
import { historyView, workflowLink } from './history.ts';
import { barView, legendView, pagesView, squaresView } from './members.ts';
import { stateView } from './state.ts';

type OwnerRoute = Extract<Route, { view: 'owner' }>;

/** A pool or set with each of its VMs, all that is known of it, and all that can be asked of it. */
export function ownerView(page: Page, route: OwnerRoute): TemplateResult {
  const { fleet } = page.client;
  const card = fleet.items.cards.get(route.id);
  if (card === undefined) return goneView(page, route.id);
  const { kind, namespace, name } = card;
  return html`<nav class="crumbs" aria-label="Above"><a href="#/">Fleet</a> / ${namespace}</nav>
    <header class="head">
      <h1 tabindex="-1">${name === '' ? namespace : name}</h1>
      <p class="place">${kindLabel(kind)}${gitOpsBadge(card)}</p>
      ${readyView(card)}
    </header>
    ${kind === null ? nothing : actionButtons(page, card.actions, subjectOf(card), true)}
    <section aria-labelledby="vms-title">
      <header>
        <h2 id="vms-title">VMs</h2>
        ${asWhat(route)}
      </header>
      ${vmsOf(card, fleet.cellsOf(card.id), route)}
    </section>
    ${
      kind === null
        ? nothing
        : html`<section aria-labelledby="state-title">
            <h2 id="state-title">Now</h2>
            ${stateView(card, { isWhole: true })}
          </section>`
    }
    ${kind === null ? nothing : pastOf(page, card)}`;
}

export function goneView({ client }: Page, id: string): TemplateResult {
  const name = id.split('/').slice(1).join('/');
  return client.fleet.isSynced
    ? html`<h1 tabindex="-1">${name} is not there</h1>
        <p>It is gone, or you may not see it. <a href="#/">The whole fleet</a></p>`
    : html`<h1 tabindex="-1">${name}</h1>
        <p class="empty">Loading…</p>`;
}

/** The same VMs as squares or as a table. */
function asWhat({ id, isTable, page }: OwnerRoute): TemplateResult {
  const at = page === 1 ? '' : page;
  return html`<p class="as">
    ${isTable ? html`<a href=${hrefOf(id, { page: at })}>as squares</a>` : html`<a href=${hrefOf(id, { page: at, as: 'table' })}>as a table</a>`}
  </p>`;
}

function vmsOf(card: OwnerCard, cells: readonly VmCell[], { id, page, isTable }: OwnerRoute): TemplateResult {
  const { rows, pages } = pageOf(rowsOf(card, cells), page);
  const to = (to: number): string => hrefOf(id, { page: to === 1 ? '' : to, as: isTable ? 'table' : '' });
  const turn = pagesView(Math.min(page, pages), pages, to, counted(cells.length, 'VM'));
  return html`${cells.length < MOST_SQUARES ? legendView(card) : barView(card)} ${turn}
  ${
    isTable
      ? tableOf(
          card,
          rows.flatMap((row) => row.cells),
        )
      : squaresView(card, rows)
  }`;
}

const ROLES = ['', 'extra', 'standby'];

function tableOf({ namespace, revisions, name }: OwnerCard, cells: readonly VmCell[]): TemplateResult {
  const rows = cells.map((cell) => {
    const [vm, state, revision, role = 0] = cell;
    const its = revisions[revision];
    const row = (): TemplateResult =>
      html`<tr>
        <th scope="row"><a href=${hrefOf(`vm/${namespace}/${vm}`)}>${vm}</a></th>
        <td><i class="dot" data-s=${state} aria-hidden="true"></i> ${STATES[state]}</td>
        <td>${its === undefined ? 'none of these' : revisionName(its)}</td>
        <td>${ROLES[role]}</td>
      </tr>`;
    return guard([cell, its], row);
  });
  return tableView(
    `Table of the VMs of ${name === '' ? namespace : name}`,
    ['Name', 'State', 'Revision', 'Role'],
    rows,
  );
}

function pastOf({ loader }: Page, { kind, namespace, name }: OwnerCard): TemplateResult {
  const loaded = loader.get<OwnerDetails>(`owners/${kind}/${namespace}/${encodeURIComponent(name)}`);
  return html`<section aria-labelledby="past-title">
    <h2 id="past-title">History</h2>
    ${loadedView(
      loaded,
      ({ temporalUrl, history, unknown }) => html`${workflowLink(temporalUrl)} ${historyView(history, unknown)}`,
    )}
  </section>`;
}
