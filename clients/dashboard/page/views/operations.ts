import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { OperationCard } from '../../contract/fleet.ts';
import { actionButtons, type Subject } from '../parts/buttons.ts';
import { factsView } from '../parts/facts.ts';
import { prose } from '../parts/prose.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf } from '../pure/route.ts';
import type { Page } from '../state/page.ts';
import { logView, type OperationRoute } from './operation-log.ts';
import { goneView } from './owner.ts';
import { windowView } from './state.ts';

const newestFirst = (a: OperationCard, b: OperationCard): number => b.createdAt.localeCompare(a.createdAt);

/** Running operations, then finished ones; machine type transitions are operations, too. */
export function operationsView({ client }: Page): TemplateResult {
  const all = [...client.fleet.items.operations.values()].sort(newestFirst);
  return html`<h1 tabindex="-1">Operations</h1>
    ${all.length === 0 ? html`<p class="empty">${client.fleet.isSynced ? html`There is none. Make one: <code>drover vm restart --pool web</code>` : 'Loading…'}</p>` : nothing}
    ${section(
      'In progress',
      'running-title',
      all.filter(({ isOver, transition }) => !isOver && transition === null),
    )}
    ${section(
      'Machine type transitions',
      'transitions-title',
      all.filter(({ isOver, transition }) => !isOver && transition !== null),
    )}
    ${section(
      'Finished',
      'finished-title',
      all.filter(({ isOver }) => isOver),
    )}`;
}

const section = (title: string, id: string, some: OperationCard[]): TemplateResult | typeof nothing =>
  some.length === 0
    ? nothing
    : html`<section aria-labelledby=${id}>
        <h2 id=${id}>${title}</h2>
        <ul class="list">
          ${repeat(
            some,
            (one) => one.id,
            (one) => rowView(one),
          )}
        </ul>
      </section>`;

/** What it does, in words: `Restart`, or from which machine type to which. */
const whatOf = ({ action, transition }: OperationCard): string =>
  transition === null
    ? action
    : `${action}: ${transition.from} → ${transition.to}, restarted by ${transition.restartedBy}`;

function rowView(one: OperationCard): TemplateResult {
  const { id, namespace, name, state, tone, requestedBy, reason, createdAt, isOver, skips } = one;
  return html`<li>
    <p class="name"><a href=${hrefOf(id)}>${name}</a> <small>${namespace ?? 'whole cluster'}</small></p>
    <p>${whatOf(one)}</p>
    <p><span class="key ${tone}">${state}</span></p>
    <div>
      ${progressView(one)}${isOver || skips.length === 0 ? nothing : html`<p class="muted">${prose(skips[0]!.message)}</p>`}
    </div>
    <p class="muted">${requestedBy}, <rel-time at=${createdAt}></rel-time>${reason === null ? '' : `: ${reason}`}</p>
  </li>`;
}

function progressView({ chosen, done, failed, inProgress, open, numbers }: OperationCard): TemplateResult {
  const parts = [
    { state: 'R', count: done },
    { state: 'U', count: inProgress },
    { state: 'F', count: failed },
    { state: 'none', count: open },
  ].filter(({ count }) => count > 0);
  return html`<div class="progress">
    <div class="bar" aria-hidden="true">
      ${parts.map(({ state, count }) => html`<i data-s=${state} .style=${`flex-grow: ${count}`}></i>`)}
    </div>
    <p>${numbers === '' ? counted(chosen, 'VM') : numbers}</p>
  </div>`;
}

const subjectOf = ({ namespace, name }: OperationCard): Subject => ({
  about: { kind: namespace === null ? 'ClusterVirtualMachineOperation' : 'VirtualMachineOperation', namespace, name },
});

/** One operation: how far it is, what it leaves alone and why, what failed, and what it did to each VM. */
export function operationView(page: Page, route: OperationRoute): TemplateResult {
  const one = page.client.fleet.items.operations.get(route.id);
  if (one === undefined) return goneView(page, route.id);
  const { namespace, name, state, tone, sentence, requestedBy, reason, createdAt, endedAt, windows } = one;
  return html`<nav class="crumbs" aria-label="Above">
      <a href="#/operations">Operations</a> / ${namespace ?? 'whole cluster'}
    </nav>
    <header class="head">
      <h1 tabindex="-1">${name}</h1>
      <p class="place">${whatOf(one)}</p>
      <p><span class="key ${tone}">${state}</span></p>
    </header>
    ${actionButtons(page, one.actions, subjectOf(one), true)}
    ${sentence === '' ? nothing : html`<p>${prose(sentence)}</p>`} ${progressView(one)}
    ${factsView([
      ['requested', html`by ${requestedBy}, <rel-time at=${createdAt}></rel-time>`],
      ['reason', reason],
      ['ended', endedAt === null ? null : html`<rel-time at=${endedAt}></rel-time>`],
      ['windows', windows === null ? null : html`${windows.texts.join('; ')}: ${windowView(windows)}`],
    ])}
    ${reportOf(one)} ${logView(page, one, route)}`;
}

function reportOf({ skips, failures }: OperationCard): TemplateResult {
  return html`${
    skips.length === 0
      ? nothing
      : html`<section aria-labelledby="skips-title">
          <h2 id="skips-title">Not now, and why</h2>
          <ul class="reasons">
            ${skips.map(
              ({ message, count, names, isExcluded }) =>
                html`<li>
                  <p>
                    ${count === null ? nothing : html`<b>${counted(count, 'VM')}</b> `}${prose(message)}${isExcluded ? html` <span class="badge">left alone</span>` : nothing}
                  </p>
                  ${names.length === 0 ? nothing : html`<small>${names.join(', ')}${count !== null && count > names.length ? ' …' : ''}</small>`}
                </li>`,
            )}
          </ul>
        </section>`
  }
  ${
    failures.length === 0
      ? nothing
      : html`<section aria-labelledby="failures-title">
          <h2 id="failures-title">Failed</h2>
          <ul class="reasons">
            ${failures.map(
              ({ vm, message }) =>
                html`<li>
                  <p><b>${vm}</b> ${prose(message)}</p>
                </li>`,
            )}
          </ul>
        </section>`
  }`;
}
