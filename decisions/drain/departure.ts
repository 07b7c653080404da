import { liveVmi } from '../health/availability.ts';
import { EXTERNAL } from '../template/template.ts';
import type { VmiView } from '../views/vmi.ts';

/**
 * Why a VMI is to leave its node. KubeVirt marks a VMI at each eviction in the same way, and keeps the mark when the
 * node is uncordoned: whether a drain asked for it only the node can tell.
 *
 * `Drain`: its node is drained. It leaves, by a restart if need be.
 * `Wish`: the descheduler, or the update of KubeVirt, would have it elsewhere, and its node is not drained. It may
 * migrate, and is never restarted.
 * `CalledOff`: its node is not drained, or no longer. It stays.
 */
type Departure = 'Drain' | 'Wish' | 'CalledOff';

/**
 * Returns null if the VMI is not to leave the node that it, or its pod, is on, or KubeVirt lets no other controller
 * move it.
 */
export function departureOf(vmi: VmiView | undefined): Departure | null {
  if (vmi === undefined || liveVmi(vmi) === undefined || vmi.evictionStrategy !== EXTERNAL) return null;
  if (isStarting(vmi)) return 'Drain';
  if (vmi.evacuationNode === null || vmi.evacuationNode !== vmi.node) return null;
  if (vmi.nodeDrained) return 'Drain';
  return vmi.wishedBy === null ? 'CalledOff' : 'Wish';
}

/**
 * Its pod has not come up on a node that is cordoned. A VM that tolerates cordons may be there because of that, and
 * could start there again.
 */
export const isStarting = ({ node, podNodeCordoned, toleratesCordons }: VmiView): boolean =>
  node === null && podNodeCordoned && !toleratesCordons;

export const nodeToLeave = ({ node, podNode }: VmiView): string => node ?? podNode ?? '';
