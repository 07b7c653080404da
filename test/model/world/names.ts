import type { PoolRef } from '../../../workflows/lib/messages.ts';

export const CLUSTER = 'model';
export const NAMESPACE = 'shop';
/** The only address that checks of rollouts may ask. */
export const PROMETHEUS = 'http://prometheus';

export const refOf = (name: string): PoolRef => ({ cluster: CLUSTER, namespace: NAMESPACE, name });
