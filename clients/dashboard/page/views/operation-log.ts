import { html, nothing, type TemplateResult } from 'lit-html';
import type { OperationCard } from '../../contract/fleet.ts';
import type { LogEntry, OperationLog, Paged, ReportLine, TransitionReport } from '../../contract/requests.ts';
import { loadedView } from '../parts/loaded.ts';
import { prose } from '../parts/prose.ts';
import { tableView } from '../parts/table.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf, type Route } from '../pure/route.ts';
import type { Page } from '../state/page.ts';
import { workflowLink } from './history.ts';
import { pagesView } from './members.ts';

export type OperationRoute = Extract<Route, { view: 'operation' }>;

/** What an operation did to each VM, and for a change of machine types what has become of each. */
export function logView(
  page: Page,
  { namespace, name, transition }: OperationCard,
  route: OperationRoute,
): TemplateResult {
  const isReport = transition !== null && route.isReport;
  const segments = [namespace ?? '-', name, String(route.page), ...(route.find === '' ? [] : [route.find])];
  const path = `${isReport ? 'reports' : 'logs'}/${segments.map(encodeURIComponent).join('/')}`;
  const loaded = page.loader.get<OperationLog | TransitionReport>(path);
  return html`<section aria-labelledby="log-title">
    <header>
      <h2 id="log-title">${isReport ? 'Report' : 'Log'}</h2>
      ${transition === null ? nothing : asWhat(route)}
      ${finder(route, isReport ? 'Find in the report' : 'Find in the log')}
    </header>
    ${loadedView(loaded, (data) => linesOf(data, route, isReport))}
  </section>`;
}

/** The address of the same operation with something else of its log. */
const hrefWith = ({ id, find, isReport }: OperationRoute, page = 1): string =>
  hrefOf(id, { page: page === 1 ? '' : page, find, as: isReport ? 'report' : '' });

const asWhat = (route: OperationRoute): TemplateResult =>
  html`<p class="as">
    ${
      route.isReport
        ? html`<a href=${hrefWith({ ...route, isReport: false })}>what was done, as a log</a>`
        : html`<a href=${hrefWith({ ...route, isReport: true })}>what has become of each VM, as a report</a>`
    }
  </p>`;

/** What is looked for is in the address, so that it can be sent. */
function finder(route: OperationRoute, label: string): TemplateResult {
  const look = ({ target }: Event): void => {
    history.replaceState(null, '', hrefWith({ ...route, find: (target as HTMLInputElement).value.trim() }));
    dispatchEvent(new HashChangeEvent('hashchange'));
  };
  return html`<search>
    <label
      ><span class="unseen">${label}</span>
      <input type="search" placeholder=${label} .value=${route.find} @change=${look}
    /></label>
  </search>`;
}

function linesOf(data: OperationLog | TransitionReport, route: OperationRoute, isReport: boolean): TemplateResult {
  const { page, pages, count, notes } = data;
  const none = route.find === '' ? 'Nothing was done to any VM yet.' : 'Nothing matches.';
  return html`${'temporalUrl' in data ? workflowLink(data.temporalUrl) : nothing}
  ${notes.map((note) => html`<p class="note warn">${note}</p>`)}
  ${pagesView(page, pages, (to) => hrefWith(route, to), counted(count, 'line'))}
  ${count === 0 ? html`<p class="empty">${none}</p>` : tableOf(data, isReport)}`;
}

const tableOf = (data: OperationLog | TransitionReport, isReport: boolean): TemplateResult =>
  isReport ? reportTable(data as Paged<ReportLine>) : logTable(data as Paged<LogEntry>);

const logTable = ({ lines }: Paged<LogEntry>): TemplateResult =>
  tableView(
    'Table of what was done',
    ['VM', 'What', 'Outcome', 'When', 'Why'],
    lines.map(
      ({ vm, what, end, tone, at, endedAt, message }) =>
        html`<tr>
          <th scope="row">${vmLink(vm)}</th>
          <td>${what}</td>
          <td><span class="key ${tone}">${end}</span></td>
          <td><rel-time at=${endedAt ?? at}></rel-time></td>
          <td>${prose(message ?? '')}</td>
        </tr>`,
    ),
  );

/** Pools are named in front of their VMs. */
const vmLink = (vm: string): TemplateResult | string =>
  vm.startsWith('pool ')
    ? html`<a href=${hrefOf(`pool/${vm.slice('pool '.length)}`)}>${vm}</a>`
    : html`<a href=${hrefOf(`vm/${vm}`)}>${vm}</a>`;

const reportTable = ({ lines }: Paged<ReportLine>): TemplateResult =>
  tableView(
    'Table of VMs and their machine types',
    ['VM', 'From', 'To', 'Its VMI had', 'State', 'Why'],
    lines.map(
      ({ namespace, name, from, to, vmiTypeBefore, state, tone, message }) =>
        html`<tr>
          <th scope="row"><a href=${hrefOf(`vm/${namespace}/${name}`)}>${namespace}/${name}</a></th>
          <td>${from ?? '–'}</td>
          <td>${to ?? '–'}</td>
          <td>${vmiTypeBefore ?? '–'}</td>
          <td><span class="key ${tone}">${state}</span></td>
          <td>${prose(message ?? '')}</td>
        </tr>`,
    ),
  );
