import type { Stored } from '../../../api/objects.ts';
import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { isDrained, DRAIN_TAINT } from '../../../decisions/views/drained-node.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import { isFinal, type VmiView } from '../../../decisions/views/vmi.ts';
import type { DrainCard } from '../contract/fleet.ts';

/** A node, and since when a taint says that it is drained, in milliseconds since the epoch; null if none tells. */
export type SeenNode = NodeView & { drainedSince: number | null };

export function seenNode(node: Stored<Node>): SeenNode {
  const times = (node.spec?.taints ?? []).flatMap(({ key = '', timeAdded }) =>
    timeAdded != null && isDrained({ taints: [key] }, DRAIN_TAINT) ? Date.parse(timeAdded) : [],
  );
  return { ...nodeView(node), drainedSince: times.length === 0 ? null : Math.min(...times) };
}

interface OnNode {
  vmis: Set<string>;
  toEvacuate: Set<string>;
}

const NOTHING: OnNode = { vmis: new Set(), toEvacuate: new Set() };

/** Counts which VMIs are on which nodes, and which nodes they are to leave. */
export class Drains {
  readonly #nodes = new Map<string, SeenNode>();
  readonly #on = new Map<string, OnNode>();
  /** Names of nodes that have changed, or whose VMIs have. */
  readonly dirty = new Set<string>();

  setNode(name: string, node: SeenNode | undefined): void {
    if (node === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    this.dirty.add(name);
  }

  setVmi(key: string, before: VmiView | undefined, after: VmiView | undefined): void {
    if (before?.node != null) this.#count(key, before.node, undefined);
    if (after?.node != null && !isFinal(after)) this.#count(key, after.node, after);
  }

  #count(key: string, node: string, vmi: VmiView | undefined): void {
    const on = this.#on.get(node) ?? { vmis: new Set(), toEvacuate: new Set() };
    on.vmis.delete(key);
    on.toEvacuate.delete(key);
    if (vmi !== undefined) on.vmis.add(key);
    if (vmi?.evacuationNode === node) on.toEvacuate.add(key);
    if (on.vmis.size === 0) this.#on.delete(node);
    else this.#on.set(node, on);
    this.dirty.add(node);
  }

  /** Tells that a migration of the VMI has begun or ended. */
  lookAgainAtVmi(vmi: VmiView | undefined): void {
    if (vmi?.node != null) this.dirty.add(vmi.node);
  }

  /** Has all be looked at again, such as when rights change. */
  lookAgain(): void {
    for (const node of [...this.#nodes.keys(), ...this.#on.keys()]) this.dirty.add(node);
  }

  /** Has drained nodes be looked at again: VMs may have been on them for too long. */
  tick(): void {
    for (const [name, { drainedSince }] of this.#nodes) if (drainedSince !== null) this.dirty.add(name);
  }

  /** The keys of VMIs on the node that have not ended. */
  vmisOn(node: string): Iterable<string> {
    return (this.#on.get(node) ?? NOTHING).vmis;
  }

  drainedSince(node: string): number | null {
    return this.#nodes.get(node)?.drainedSince ?? null;
  }

  /** Null for a node that has no VMI, and that none is to leave. */
  cardOf(node: string, isMigrating: (key: string) => boolean): Omit<DrainCard, 'actions'> | null {
    const { vmis, toEvacuate } = this.#on.get(node) ?? NOTHING;
    const view = this.#nodes.get(node);
    const isEmptied = view !== undefined && isDrained(view, DRAIN_TAINT);
    if (vmis.size === 0 && !isEmptied) return null;
    const migrating = [...vmis].filter(isMigrating).length;
    return {
      id: `node/${node}`,
      node,
      isDrained: isEmptied,
      remaining: vmis.size,
      migrating,
      toEvacuate: toEvacuate.size,
    };
  }
}
