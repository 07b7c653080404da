import type { PoolRef } from '../../../workflows/lib/messages.ts';

export const CLUSTER = 'model';
export const NAMESPACE = 'shop';

export const refOf = (name: string): PoolRef => ({ cluster: CLUSTER, namespace: NAMESPACE, name });
