import { html, nothing, type TemplateResult } from 'lit-html';
import type { Session } from '../../contract/messages.ts';
import { actionResult } from '../parts/buttons.ts';
import { confirmDialog } from '../parts/confirm-dialog.ts';
import { liveState, type LiveState } from '../pure/news.ts';
import type { Route } from '../pure/route.ts';
import { clockOf } from '../pure/times.ts';
import type { Page } from '../state/page.ts';
import { signInAgain } from '../state/sign-in-again.ts';
import { budgetsView } from './budgets.ts';
import { drainsView, isDraining, nodeView } from './drains.ts';
import { fleetView } from './fleet-view.ts';
import { operationView, operationsView } from './operations.ts';
import { ownerView } from './owner.ts';
import { schedulesView } from './schedules.ts';
import { vmView } from './vm.ts';

const LIVE_LABELS: Record<LiveState, string> = {
  connecting: 'Connecting',
  loading: 'Loading',
  live: 'Live',
  paused: 'Paused',
  reconnecting: 'Reconnecting',
  'cut-off': 'Cut off',
  refused: 'Rejected',
  'signed-out': 'Signed out',
};

/** The whole page. */
export function shell(page: Page): TemplateResult {
  return html`
    <a class="skip" href="#content" @click=${skip}>Skip to the content</a>
    ${top(page)} ${banner(page)}
    <main id="content" tabindex="-1">${contentOf(page, page.route)}</main>
    ${bottom(page)} ${actionResult(page)} ${confirmDialog(page)}
  `;
}

/** The address says which view is shown, so it stays as it is. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('main')?.focus();
}

const NAV = [
  { href: '#/', label: 'Fleet', views: ['fleet', 'owner', 'vm'] },
  { href: '#/operations', label: 'Operations', views: ['operations', 'operation'] },
  { href: '#/schedules', label: 'Schedules', views: ['schedules'] },
  { href: '#/drains', label: 'Drains', views: ['drains', 'node'] },
  { href: '#/budgets', label: 'Budgets', views: ['budgets'] },
] as const satisfies { href: string; label: string; views: Route['view'][] }[];

function top(page: Page): TemplateResult {
  const { count } = page.client.fleet.needs;
  const running = [...page.client.fleet.items.operations.values()].filter(({ isOver }) => !isOver).length;
  const numbers: Record<string, number> = {
    Fleet: count,
    Operations: running,
    Drains: [...page.client.fleet.items.drains.values()].filter(isDraining).length,
  };
  return html`<header class="top">
    <a class="brand" href="#/"><img src="page/styles/icon.svg" alt="" width="18" height="18" />drover</a>
    <nav aria-label="Views">
      ${NAV.map(({ href, label, views }) => {
        const isHere = (views as readonly string[]).includes(page.route.view);
        const number = numbers[label] ?? 0;
        return html`<a href=${href} aria-current=${isHere ? 'page' : nothing}
          >${label}${number === 0 ? nothing : html` <span class=${label === 'Fleet' ? 'number warn' : 'number'}>${number}</span>`}</a
        >`;
      })}
    </nav>
    <div class="live">${page.isReadOnly ? html`<span class="badge">read-only</span>` : nothing} ${liveParts(page)}</div>
  </header>`;
}

function liveParts({ client }: Page): TemplateResult {
  const state = liveState(client);
  const isPaused = client.pausedAt !== null;
  const title = client.heardAt === null ? '' : `last change ${clockOf(client.heardAt)}`;
  return html`<span class="pill" data-live=${state} title=${title}><i aria-hidden="true"></i>${LIVE_LABELS[state]}</span
    ><button
      type="button"
      class="quiet"
      aria-pressed=${isPaused ? 'true' : 'false'}
      @click=${() => client.togglePause()}
    >
      Pause updates
    </button>`;
}

const at = (time: number | string): TemplateResult => html`<rel-time at=${new Date(time).toISOString()}></rel-time>`;

const forLength = (session: Session | null): TemplateResult | typeof nothing =>
  session === null ? nothing : html` for <rel-time at=${session.since} length></rel-time>`;

const bannerView = (tone: string, sentence: unknown, beside: unknown = nothing): TemplateResult =>
  html`<p class="banner ${tone}"><span>${sentence}</span> ${beside}</p>`;

/** What keeps the page from showing what is so, and what it can't show. */
function banner({ client }: Page): TemplateResult | typeof nothing {
  const { connection, session, pausedAt } = client;
  const { message, since } = connection;
  const seen = html`What you see is from ${at(since)}.`;
  const whyNot = html`<small>${session?.message}</small>`;
  switch (liveState(client)) {
    case 'signed-out':
      // The server says which address to open; a proxy says nothing, and knows where users sign in.
      return message === null
        ? bannerView(
            'bad',
            html`You are signed out. ${seen}`,
            html`<button type="button" @click=${signInAgain}>Sign in again</button>`,
          )
        : bannerView('bad', html`You are signed out: ${message}. ${seen}`);
    case 'reconnecting':
      return message === null
        ? bannerView(
            'warn',
            html`The dashboard’s server went away ${at(since)}. What you see is from before; once it is back, it
            continues by itself. If you have ended it, start it again and open the address that it prints.`,
          )
        : bannerView('bad', `The dashboard’s server refuses: ${message}`);
    case 'cut-off':
      return bannerView(
        'warn',
        html`The API server has not answered${forLength(session)}. What you see is from before; it continues by itself.`,
        whyNot,
      );
    case 'refused':
      return bannerView(
        'bad',
        html`The API server has rejected your credentials${forLength(session)}. What you see is from before. Sign in
        again, as for kubectl: it continues by itself.`,
        whyNot,
      );
    case 'paused':
      return bannerView(
        '',
        html`Updates were paused ${at(pausedAt ?? 0)}.`,
        html`<button type="button" class="quiet" @click=${() => client.togglePause()}>Continue</button>`,
      );
    case 'connecting':
    case 'loading':
    case 'live':
      return session === null ? nothing : html`${session.unseen.map(withdrawnView)}`;
  }
}

/** What the user could see before, and no longer can: what is shown of it is old. */
const withdrawnView = ({
  what,
  namespace,
  message,
  since,
}: Session['unseen'][number]): TemplateResult | typeof nothing =>
  since === null
    ? nothing
    : bannerView(
        'warn',
        html`What you see of ${what}${namespace === null ? '' : ` in ${namespace}`} is from ${at(since)}: ${message}.`,
      );

function bottom({ client: { session } }: Page): TemplateResult {
  if (session === null) return html`<footer class="bottom"></footer>`;
  const { user, server, versions, namespaces, unseen } = session;
  const notShown = Map.groupBy(
    unseen.filter(({ since }) => since === null),
    ({ namespace, message }) => `${namespace === null ? '' : ` in ${namespace}`}, because ${message}`,
  );
  return html`<footer class="bottom">
    <p>
      ${user ?? 'unknown user'} on ${server} · drover ${versions.drover}
      ${versions.kubevirt === null ? nothing : html` · KubeVirt ${versions.kubevirt}`}
      ${namespaces === null ? nothing : html` · namespaces ${namespaces.join(', ')} alone`}
    </p>
    ${[...notShown].map(
      ([why, some]) => html`<p class="warn">Not shown: ${some.map(({ what }) => what).join(', ')}${why}</p>`,
    )}
  </footer>`;
}

function contentOf(page: Page, route: Route): TemplateResult {
  switch (route.view) {
    case 'fleet':
      return fleetView(page, route);
    case 'owner':
      return ownerView(page, route);
    case 'vm':
      return vmView(page, route);
    case 'operations':
      return operationsView(page);
    case 'operation':
      return operationView(page, route);
    case 'schedules':
      return schedulesView(page);
    case 'drains':
      return drainsView(page);
    case 'budgets':
      return budgetsView(page);
    case 'node':
      return nodeView(page, route.name);
    case 'unknown':
      return html`<h1 tabindex="-1">Page not found</h1>
        <p><a href="#/">The whole fleet</a></p>`;
  }
}

/** What the tab is called: how much needs a person, then what it shows. */
export function titleOf({ client, route }: Page): string {
  const { count } = client.fleet.needs;
  const what = subjectOf(route);
  return `${count === 0 ? '' : `(${count}) `}${what === '' ? '' : `${what} · `}drover`;
}

function subjectOf(route: Route): string {
  switch (route.view) {
    case 'owner':
    case 'operation':
      return route.id.split('/').slice(1).join('/');
    case 'vm':
    case 'node':
      return route.name;
    case 'operations':
    case 'schedules':
    case 'drains':
    case 'budgets':
      return route.view;
    case 'fleet':
    case 'unknown':
      return '';
  }
}
