import { servingRank } from '../scaling/selection-order.ts';
import type { Replica } from './replica.ts';

/**
 * Sorts replicas in the order in which they leave a set: replicas that are not ready, among them first replicas that
 * can't run as they are; then replicas that migrate or whose node is drained; then ready ones; among equals the newest
 * first. The order is total: the same replicas always leave in the same order.
 */
export const removalOrder = (replicas: readonly Replica[]): Replica[] =>
  [...replicas].sort((a, b) => rankOf(a) - rankOf(b) || b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1));

const rankOf = (replica: Replica): number => (!replica.isReady && replica.isFailing ? 0 : servingRank(replica));
