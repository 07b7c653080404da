import { html, nothing, type TemplateResult } from 'lit-html';
import type { VmState } from '../../contract/fleet.ts';
import type { Disk, VmDetails } from '../../contract/requests.ts';
import { actionButtons } from '../parts/buttons.ts';
import { factsView } from '../parts/facts.ts';
import { loadedView } from '../parts/loaded.ts';
import { prose } from '../parts/prose.ts';
import { tableView } from '../parts/table.ts';
import { STATES } from '../pure/labels.ts';
import { hrefOf, refOf, type Route } from '../pure/route.ts';
import type { Page } from '../state/page.ts';
import { historyView, workflowLink } from './history.ts';

type VmRoute = Extract<Route, { view: 'vm' }>;

/** A VM: why it is as it is comes first. */
export function vmView(page: Page, { namespace, name }: VmRoute): TemplateResult {
  const loaded = page.loader.get<VmDetails>(`vms/${namespace}/${encodeURIComponent(name)}`);
  const vm = loaded.state === 'here' ? loaded.data : null;
  return html`<nav class="crumbs" aria-label="Above">
      <a href="#/">Fleet</a> /
      ${namespace}${vm === null ? nothing : html` / <a href=${hrefOf(vm.card)}>${vm.card.split('/').at(-1)}</a>`}
    </nav>
    ${vm === null ? html`<h1 tabindex="-1">${name}</h1>` : headOf(page, vm)}
    ${loadedView(loaded, (vm) => detailsOf(page, vm))}`;
}

const detailsOf = (page: Page, vm: VmDetails): TemplateResult =>
  html`${whyOf(vm)} ${buttonsOf(page, vm)}
    <div class="columns">
      <section aria-labelledby="facts-title">
        <h2 id="facts-title">Facts</h2>
        ${factsView(vm.facts.map(({ label, value }) => [label, value]))} ${workflowLink(vm.temporalUrl)}
      </section>
      ${disksOf(vm.disks)}
    </div>
    <section aria-labelledby="past-title">
      <h2 id="past-title">What happened to it</h2>
      ${historyView(vm.history, vm.unknown)}
    </section>`;

/** The state that the stream has: it is newer than what was asked for. */
function stateOf({ client }: Page, { card, name }: VmDetails): VmState | null {
  return client.fleet.cellsOf(card).find(([its]) => its === name)?.[1] ?? null;
}

function headOf(page: Page, vm: VmDetails): TemplateResult {
  const state = stateOf(page, vm);
  return html`<header class="head">
    <h1 tabindex="-1">${vm.name}</h1>
    <p class="place">VM</p>
    <p class="ready ${vm.isReady ? 'good' : 'warn'}">
      ${state === null ? nothing : html`<i class="dot" data-s=${state} aria-hidden="true"></i> <b>${STATES[state]}</b> · `}${vm.status}
    </p>
  </header>`;
}

function whyOf({ wait, explanation, isReady }: VmDetails): TemplateResult | typeof nothing {
  if (wait === null && explanation.length === 0) return nothing;
  return html`<section class=${isReady ? 'because' : 'because bad'} aria-labelledby="why-title">
    <h2 id="why-title">Why</h2>
    <ol>
      ${wait === null ? nothing : html`<li>${waitView(wait)}</li>`}
      ${explanation.map((sentence) => html`<li>${prose(sentence)}</li>`)}
    </ol>
  </section>`;
}

const waitView = ({ sentence, since, isLate }: NonNullable<VmDetails['wait']>): TemplateResult =>
  html`${prose(sentence)}${since === null ? nothing : html`, for <rel-time at=${since} length></rel-time>`}${isLate ? ', which is longer than it should take' : ''}`;

/** What is asked for a VM is asked of its pool. */
function buttonsOf(page: Page, { card, name, actions }: VmDetails): TemplateResult | typeof nothing {
  const owner = page.client.fleet.items.cards.get(card);
  if (owner === undefined || owner.kind === null) return nothing;
  return actionButtons(page, actions, { about: refOf(owner), vms: [name], gitOps: owner.gitOps?.tool ?? null }, true);
}

function disksOf(disks: readonly Disk[]): TemplateResult | typeof nothing {
  if (disks.length === 0) return nothing;
  const rows = disks.map(
    ({ name, claim, size, storageClass, phase, isKept }) =>
      html`<tr>
        <th scope="row">${name}</th>
        <td>${claim ?? '–'}</td>
        <td class="num">${size ?? '–'}</td>
        <td>${storageClass ?? '–'}</td>
        <td>${phase ?? '–'}</td>
        <td>${keptText(isKept)}</td>
      </tr>`,
  );
  const heads = ['Disk', 'Claim', 'Size', 'Class', 'Phase', 'When the VM leaves'];
  return html`<section aria-labelledby="disks-title">
    <h2 id="disks-title">Disks</h2>
    ${tableView('Table of disks', heads, rows)}
  </section>`;
}

function keptText(isKept: boolean | null): string {
  if (isKept === null) return '–';
  return isKept ? 'stays' : 'goes with it';
}
