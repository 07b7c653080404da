import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { DrainCard } from '../../contract/fleet.ts';
import type { NodeDetails } from '../../contract/requests.ts';
import { actionButtons } from '../parts/buttons.ts';
import { nodePath } from '../parts/drain-outlook.ts';
import { loadedView } from '../parts/loaded.ts';
import { prose } from '../parts/prose.ts';
import { tableView } from '../parts/table.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf } from '../pure/route.ts';
import type { Page } from '../state/page.ts';

/** Whether VMs are to leave it. */
export const isDraining = ({ isDrained, toEvacuate }: DrainCard): boolean => isDrained || toEvacuate > 0;

/** Nodes that VMs are to leave, then all others that have some. */
export function drainsView(page: Page): TemplateResult {
  const { fleet } = page.client;
  const all = [...fleet.items.drains.values()].sort((a, b) => a.id.localeCompare(b.id));
  const [drained, others] = [all.filter(isDraining), all.filter((card) => !isDraining(card))];
  const none = fleet.isSynced ? 'No node is drained.' : 'Loading…';
  return html`<h1 tabindex="-1">Drains</h1>
    ${drained.length === 0 ? html`<p class="empty">${none}</p>` : nodeList(page, drained)}
    ${
      others.length === 0
        ? nothing
        : html`<section aria-labelledby="others-title">
            <h2 id="others-title">Nodes with VMs</h2>
            ${nodeList(page, others)}
          </section>`
    }`;
}

const nodeList = (page: Page, cards: readonly DrainCard[]): TemplateResult =>
  html`<ul class="list">
    ${repeat(
      cards,
      ({ id }) => id,
      (card) =>
        html`<li>
          <p class="name"><a href=${hrefOf(card.id)}>${card.node}</a></p>
          ${isDraining(card) ? html`<p>${formatRemaining(card)}</p>` : html`<p>${counted(card.remaining, 'VM')}</p>`}
          ${actionButtons(page, card.actions, subjectOf(card.node))}
        </li>`,
    )}
  </ul>`;

const subjectOf = (node: string) => ({ about: { kind: 'Node', namespace: null, name: node } });

function formatRemaining({ remaining, migrating, toEvacuate, isDrained }: DrainCard): string {
  if (remaining === 0) return 'no VM is left on it';
  const parts = [
    ...(toEvacuate > 0 ? [`${toEvacuate} asked to leave`] : []),
    ...(migrating > 0 ? [`${migrating} migrating`] : []),
    ...(isDrained ? [] : ['not cordoned']),
  ];
  return `${counted(remaining, 'VM')} left${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/** What is left on a node, and what each VM waits for. */
export function nodeView(page: Page, name: string): TemplateResult {
  const loaded = page.loader.get<NodeDetails>(nodePath(name));
  const card = page.client.fleet.items.drains.get(`node/${name}`);
  const reason = loaded.state === 'here' && loaded.data.isDrained ? loaded.data.reason : null;
  const head = html`<nav class="crumbs" aria-label="Above"><a href="#/drains">Drains</a></nav>
    <header class="head">
      <h1 tabindex="-1">${name}</h1>
      <p class="place">node${card?.isDrained === true ? ', drained' : ''}${reason === null ? '' : `: ${reason}`}</p>
    </header>
    ${actionButtons(page, card?.actions ?? [], subjectOf(name), true)}
    ${card !== undefined && isDraining(card) ? html`<p>${formatRemaining(card)}</p>` : nothing}`;
  return html`${head}
  ${loadedView(loaded, ({ items }) => (items.length === 0 ? html`<p class="empty">No VM is on it.</p>` : tableOf(items)))}`;
}

const tableOf = (items: NodeDetails['items']): TemplateResult =>
  tableView(
    'Table of VMs on the node',
    ['VM', 'Owner', 'State', 'What happens'],
    items.map(
      ({ namespace, name, owner, state, needsPerson, message }) =>
        html`<tr>
          <th scope="row"><a href=${hrefOf(`vm/${namespace}/${name}`)}>${namespace}/${name}</a></th>
          <td>${owner ?? '–'}</td>
          <td><span class="key ${needsPerson || state === 'ShutDown' ? 'bad' : 'busy'}">${state}</span></td>
          <td>${prose(message)}${needsPerson ? html` <span class="badge">needs a person</span>` : nothing}</td>
        </tr>`,
    ),
  );
