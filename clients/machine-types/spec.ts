import type { OperationSpec } from '../../api/operations/operation.ts';
import type { Transition, TransitionScope } from '../../decisions/machine-types/transition.ts';
import { durationText } from '../operations/make.ts';

/** The requester, if the API server does not say. */
export const UNKNOWN = 'unknown';

/**
 * Returns what an operation asks for, so that `transitionOf` finds the transition in it again. `templates`: whether
 * templates of pools are to be changed, which takes the right to. `known`: VMs by which a name without a namespace is
 * found, if others have one.
 */
export function specOf(
  transition: Transition,
  templates: boolean,
  known: readonly { namespace: string; name: string }[] = [],
): OperationSpec {
  const { scope, to, restartNow, windows, order, force, maxRestarts, maxFailures, deadlineMs, requestedBy, reason } =
    transition;
  const { glob, labelSelector, only, undoes } = scope;
  const { names, exclude, namespaces } = namedIn(scope, known);
  return {
    action: 'MachineType',
    ...(namespaces === null ? {} : { namespaces }),
    vms: {
      ...(names.length > 0 ? { names } : {}),
      ...(labelSelector === null && names.length > 0 ? {} : { selector: labelSelector ?? {} }),
      ...(only === null ? {} : { runState: only === 'running' ? 'Running' : 'Stopped' }),
      ...(exclude.length === 0 ? {} : { exclude }),
    },
    machineType: {
      ...(undoes === null ? { from: glob } : { undoes }),
      ...(to === null ? {} : { to }),
      ...(restartNow ? { restart: true } : {}),
      ...(templates ? { templates } : {}),
      ...(force ? { force } : {}),
    },
    atOnce: maxRestarts,
    maxFailures,
    ...(windows.length === 0 ? {} : { windows }),
    ...(order === undefined ? {} : { order }),
    deadline: durationText(deadlineMs),
    ...(requestedBy === UNKNOWN ? {} : { requestedBy }),
    ...(reason === null ? {} : { reason }),
  };
}

const isBare = (word: string): boolean => !word.includes('/');
const bare = (word: string): string => word.slice(word.indexOf('/') + 1);

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
  const meant = new Set([...names.filter((word) => !isBare(word)), ...found]);
  const of = [...new Set([...meant].map((key) => key.slice(0, key.indexOf('/'))))];
  const others = of.flatMap((namespace) => own.map((name) => `${namespace}/${name}`)).filter((key) => !meant.has(key));
  return { names: own, exclude: [...exclude, ...others], namespaces: of };
}
