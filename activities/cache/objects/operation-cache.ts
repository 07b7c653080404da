import { withoutManagedFields, type KubeObject } from '../../../api/objects.ts';
import { VirtualMachineOperations, type Resource } from '../../../api/resources.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { CacheChange } from './cache-change.ts';
import { type CommonOptions } from './owner-caches.ts';

/** What people have asked to be done to VMs, by `namespace/name`. */
export type OperationCache = ListWatch<KubeObject, StoredOperation>;

/** Creates the cache of all operations, whole but for what the API server notes about fields. */
export const operationCache = (
  common: (resource: Resource) => CommonOptions,
  onChange: (change: Extract<CacheChange, { kind: 'operation' }>) => void,
): OperationCache =>
  new ListWatch<KubeObject, StoredOperation>({
    ...common(VirtualMachineOperations),
    view: (object) => withoutManagedFields(object) as StoredOperation,
    onChange: (_key, before, after) => onChange({ kind: 'operation', before, after }),
  });
