import { html, nothing, type TemplateResult } from 'lit-html';
import { guard } from 'lit-html/directives/guard.js';
import { repeat } from 'lit-html/directives/repeat.js';
import type { OwnerCard } from '../../contract/fleet.ts';
import { hiddenFrom, isHidden } from '../pure/hidden.ts';
import { counted } from '../pure/labels.ts';
import { hrefOf, type Route } from '../pure/route.ts';
import { summaryOf } from '../pure/summary.ts';
import type { Page } from '../state/page.ts';
import { cardView, formatStopped } from './card.ts';
import { barView } from './members.ts';
import { needsView } from './needs.ts';

type FleetRoute = Extract<Route, { view: 'fleet' }>;

/** First what needs a person, then everything there is. */
export function fleetView(page: Page, route: FleetRoute): TemplateResult {
  const { fleet } = page.client;
  const all = fleet.cards;
  const cards = all.filter((card) => isWanted(card, route));
  return html`${needsView(page)}
    <section class="fleet" aria-labelledby="fleet-title">
      <header>
        <h2 id="fleet-title">Fleet</h2>
        ${filters(all, route)}
      </header>
      ${all.length === 0 ? emptyView(page) : summary(cards)}
      ${all.length > 0 && cards.length === 0 ? html`<p class="empty">Nothing matches. <a href="#/">Show all</a></p>` : nothing}
      <div class="cards">
        ${repeat(
          cards,
          ({ id }) => id,
          (card) => guard([card, fleet.versionOf(card.id)], () => cardView(page, card)),
        )}
      </div>
    </section>`;
}

function emptyView({ client }: Page): TemplateResult | typeof nothing {
  if (!client.fleet.isSynced || isHidden(hiddenFrom(client.session), 'virtualmachinepools')) return nothing;
  return html`<p class="empty">No pools or sets yet. Create one: <code>drover apply -f examples/pool.yaml</code></p>`;
}

const isWanted = ({ namespace, name }: OwnerCard, { find, namespace: wanted }: FleetRoute): boolean =>
  (wanted === '' || namespace === wanted) &&
  (find === '' || `${namespace}/${name}`.toLowerCase().includes(find.toLowerCase()));

/** What is looked for is in the address, so that it can be sent. */
function go(params: { find: string; namespace: string }): void {
  history.replaceState(null, '', hrefOf('', params));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

function filters(cards: readonly OwnerCard[], { find, namespace }: FleetRoute): TemplateResult {
  const namespaces = [...new Set(cards.map((card) => card.namespace))].sort();
  return html`<search>
    <label
      ><span class="unseen">Find by name</span>
      <input
        type="search"
        placeholder="Find by name"
        .value=${find}
        @input=${({ target }: Event) => go({ find: (target as HTMLInputElement).value, namespace })}
    /></label>
    ${
      namespaces.length < 2
        ? nothing
        : html`<label
            ><span class="unseen">Namespace</span>
            <select @change=${({ target }: Event) => go({ find, namespace: (target as HTMLSelectElement).value })}>
              <option value="">all namespaces</option>
              ${namespaces.map((one) => html`<option value=${one} ?selected=${one === namespace}>${one}</option>`)}
            </select></label
          >`
    }
  </search>`;
}

function summary(cards: readonly OwnerCard[]): TemplateResult {
  const { owners, vms, ready, stopped, total } = summaryOf(cards);
  return html`<p class="summary">
      <b>${ready.toLocaleString('en')}</b> of ${counted(vms - stopped, 'VM')} ready${formatStopped(stopped)}, in
      ${counted(owners, 'pool or set', 'pools and sets')}
    </p>
    ${barView(total)}`;
}
