import type { VmCell } from '../../../clients/dashboard/contract/fleet.ts';
import type { Delta, Needs } from '../../../clients/dashboard/contract/messages.ts';
import type { FleetDelta } from '../../../clients/dashboard/fleet/fleet.ts';

const COLLECTIONS = ['cards', 'operations', 'schedules', 'drains', 'budgets'] as const;

const byKey = <V>(map: Map<string, V>): [string, V][] =>
  [...map].toSorted(([one], [other]) => one.localeCompare(other));

/** What a browser makes of deltas, as the contract says. */
export class Viewer {
  readonly items = new Map<string, { id: string }>();
  readonly cells = new Map<string, Map<string, VmCell>>();
  needs: Needs = { items: [], count: 0 };

  /** Ids of what is shown but nodes: these are shown as long as VMs run on them. */
  get shown(): string[] {
    return [...this.items.keys()].filter((id) => !id.startsWith('node/'));
  }

  delta(delta: FleetDelta | Delta | null): this {
    if (delta === null) return this;
    if ('isWhole' in delta) {
      this.items.clear();
      this.cells.clear();
    }
    for (const [card, { set = [], gone = [] }] of Object.entries(delta.cells ?? {})) this.#set(card, set, gone);
    for (const name of COLLECTIONS) {
      for (const item of delta[name]?.set ?? []) this.items.set(item.id, item);
      for (const id of delta[name]?.gone ?? []) {
        this.items.delete(id);
        this.cells.delete(id);
      }
    }
    if (delta.needs !== undefined) this.needs = delta.needs;
    return this;
  }

  #set(card: string, set: readonly VmCell[], gone: readonly string[]): void {
    const cells = this.cells.get(card) ?? new Map<string, VmCell>();
    for (const name of gone) cells.delete(name);
    for (const cell of set) cells.set(cell[0], cell);
    if (cells.size === 0) this.cells.delete(card);
    else this.cells.set(card, cells);
  }

  /** All that is shown, for comparisons. */
  all(): unknown {
    const cells = byKey(this.cells).map(([card, of]) => [card, byKey(of)]);
    return { items: byKey(this.items), cells, needs: this.needs };
  }
}
