import { html, nothing, type TemplateResult } from 'lit-html';
import type { NodeDetails } from '../../contract/requests.ts';
import { hrefOf } from '../pure/route.ts';
import { counted } from '../pure/words.ts';
import type { Page } from '../state/page.ts';

/** Nodes that VMs are to leave. */
export function drainsView({ client }: Page): TemplateResult {
  const all = [...client.fleet.items.drains.values()].sort((one, other) => one.id.localeCompare(other.id));
  return html`<h1 tabindex="-1">Drains</h1>
    ${
      all.length === 0
        ? html`<p class="empty">${client.fleet.isSynced ? 'No node is drained.' : 'Loading…'}</p>`
        : html`<ul class="list">
            ${all.map(
              ({ id, node, left, migrating, asked }) =>
                html`<li>
                  <p class="name"><a href=${hrefOf(id)}>${node}</a></p>
                  <p>${left === 0 ? 'empty' : `${counted(left, 'VM')} left`}</p>
                  <p>${migrating} migrating</p>
                  <p>${asked} asked to leave</p>
                </li>`,
            )}
          </ul>`
    }`;
}

/** What is left on a node, and what each VM waits for. */
export function nodeView(page: Page, name: string): TemplateResult {
  const loaded = page.loader.get<NodeDetails>(`/api/nodes/${encodeURIComponent(name)}`);
  const head = html`<nav class="crumbs" aria-label="Above"><a href="#/drains">Drains</a></nav>
    <header class="head">
      <h1 tabindex="-1">${name}</h1>
      <p class="place">node</p>
    </header>`;
  if (loaded.state !== 'here')
    return html`${head}
      <p class=${loaded.state === 'failed' ? 'note bad' : 'empty'}>
        ${loaded.state === 'failed' ? loaded.sentence : 'Loading…'}
      </p>`;
  const { items } = loaded.data;
  if (items.length === 0)
    return html`${head}
      <p class="empty">No VM is left on it.</p>`;
  return html`${head}
    <div class="scroll" tabindex="0" role="group" aria-label="Table of VMs that are left">
      <table>
        <thead>
          <tr>
            <th scope="col">VM</th>
            <th scope="col">Owner</th>
            <th scope="col">State</th>
            <th scope="col">Waits for</th>
          </tr>
        </thead>
        <tbody>
          ${items.map(
            ({ namespace, name, owner, state, needsPerson, message }) =>
              html`<tr>
                <th scope="row"><a href=${hrefOf(`vm/${namespace}/${name}`)}>${namespace}/${name}</a></th>
                <td>${owner ?? '–'}</td>
                <td><span class="key ${needsPerson ? 'bad' : 'busy'}">${state}</span></td>
                <td>${message}${needsPerson ? html` <span class="badge">needs a person</span>` : nothing}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}
