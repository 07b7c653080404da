import { html, type TemplateResult } from 'lit-html';
import type { OperationCard } from '../../contract/fleet.ts';
import type { OperationLog } from '../../contract/requests.ts';
import { loadedView } from '../parts/loaded.ts';
import { prose } from '../parts/prose.ts';
import { tableView } from '../parts/table.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf, type Route } from '../pure/route.ts';
import type { Page } from '../state/page.ts';
import { workflowLink } from './history.ts';
import { pagesView } from './members.ts';

export type OperationRoute = Extract<Route, { view: 'operation' }>;

/** What an operation did to each VM. */
export function logView(page: Page, { namespace, name }: OperationCard, route: OperationRoute): TemplateResult {
  const segments = [namespace ?? '-', name, String(route.page), ...(route.find === '' ? [] : [route.find])];
  const loaded = page.loader.get<OperationLog>(`logs/${segments.map(encodeURIComponent).join('/')}`);
  return html`<section aria-labelledby="log-title">
    <header>
      <h2 id="log-title">Log</h2>
      ${finder(route)}
    </header>
    ${loadedView(loaded, (data) => linesOf(data, route))}
  </section>`;
}

/** The address of the same operation with something else of its log. */
const hrefWith = ({ id, find }: OperationRoute, page = 1): string => hrefOf(id, { page: page === 1 ? '' : page, find });

/** What is looked for is in the address, so that it can be sent. */
function finder(route: OperationRoute): TemplateResult {
  const look = ({ target }: Event): void => {
    history.replaceState(null, '', hrefWith({ ...route, find: (target as HTMLInputElement).value.trim() }));
    dispatchEvent(new HashChangeEvent('hashchange'));
  };
  return html`<search>
    <label
      ><span class="unseen">Find in the log</span>
      <input type="search" placeholder="Find in the log" .value=${route.find} @change=${look}
    /></label>
  </search>`;
}

function linesOf(data: OperationLog, route: OperationRoute): TemplateResult {
  const { page, pages, count, notes, temporalUrl } = data;
  const none = route.find === '' ? 'Nothing was done to any VM yet.' : 'Nothing matches.';
  return html`${workflowLink(temporalUrl)} ${notes.map((note) => html`<p class="note warn">${note}</p>`)}
  ${pagesView(page, pages, (to) => hrefWith(route, to), counted(count, 'line'))}
  ${count === 0 ? html`<p class="empty">${none}</p>` : logTable(data)}`;
}

const logTable = ({ lines }: OperationLog): TemplateResult =>
  tableView(
    'Table of what was done',
    ['VM', 'What', 'Outcome', 'When', 'Why'],
    lines.map(
      ({ vm, what, end, tone, at, endedAt, message }) =>
        html`<tr>
          <th scope="row"><a href=${hrefOf(`vm/${vm}`)}>${vm}</a></th>
          <td>${what}</td>
          <td><span class="key ${tone}">${end}</span></td>
          <td><rel-time at=${endedAt ?? at}></rel-time></td>
          <td>${prose(message ?? '')}</td>
        </tr>`,
    ),
  );
