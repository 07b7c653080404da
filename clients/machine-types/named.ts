import type { AnyOperation } from '../../api/operations/operation.ts';
import type { TransitionScope } from '../../decisions/machine-types/transition.ts';
import { operationOf } from '../operations/make.ts';
import type { PlannedItem } from './plan.ts';

/**
 * Returns the operation as an object can say it: with names of VMs without namespaces, which are found among the
 * planned VMs if others have one.
 */
export function namedOperation(
  { metadata, spec }: AnyOperation,
  scope: TransitionScope,
  items: readonly PlannedItem[],
): AnyOperation {
  const { names, exclude, namespaces } = namedIn(scope, items);
  return operationOf(metadata.namespace, {
    ...spec,
    ...(namespaces === null ? {} : { namespaces }),
    vms: {
      ...spec.vms,
      ...(names.length === 0 ? {} : { names }),
      ...(exclude.length === 0 ? {} : { exclude }),
    },
  });
}

const isBare = (name: string): boolean => !name.includes('/');
const bare = (name: string): string => name.slice(name.indexOf('/') + 1);

/**
 * Objects name VMs without their namespaces: names of some namespaces become those, without the VMs there that have the
 * name of another one. `namespaces`: null if they go without saying.
 */
function namedIn(
  { names, exclude, namespaces }: TransitionScope,
  known: readonly { namespace: string; name: string }[],
): Pick<TransitionScope, 'names' | 'exclude' | 'namespaces'> {
  const own = [...new Set(names.map(bare))];
  if (namespaces !== null || names.every(isBare)) return { names: own, exclude, namespaces: null };
  const found = known.flatMap(({ namespace, name }) => (names.includes(name) ? [`${namespace}/${name}`] : []));
  const meant = new Set([...names.filter((name) => !isBare(name)), ...found]);
  const of = [...new Set([...meant].map((key) => key.slice(0, key.indexOf('/'))))];
  const others = of.flatMap((namespace) => own.map((name) => `${namespace}/${name}`)).filter((key) => !meant.has(key));
  return { names: own, exclude: [...exclude, ...others], namespaces: of };
}
