import { isSameQuantity } from '../../api/lib/quantity.ts';
import { field, isObject } from '../lib/json.ts';
import { byName } from './named-items.ts';

/** Fields whose values are Kubernetes quantities, which KubeVirt spells in its own way. */
const QUANTITIES = new Set(['guest', 'maxGuest', 'capacity', 'cpu', 'memory', 'storage', 'ephemeral-storage']);

/** KubeVirt's fields that are on, or as the cluster has them, if they are absent. */
const ON_BY_DEFAULT = new Set([
  'autoattachGraphicsDevice',
  'autoattachMemBalloon',
  'autoattachPodInterface',
  'autoattachSerialConsole',
  'blockMultiQueue',
  'enabled',
  'logSerialConsole',
  'networkInterfaceMultiqueue',
  'present',
  'secureBoot',
  'useVirtioTransitional',
]);
/** The same of numbers. */
const MORE_BY_DEFAULT = new Set(['terminationGracePeriodSeconds', 'tolerationSeconds']);
/** Maps: an empty one is none. An empty object elsewhere is a choice, as `masquerade: {}` is. */
const MAPS = new Set(['annotations', 'labels', 'limits', 'matchLabels', 'nodeSelector', 'requests']);

/**
 * Fields that KubeVirt replaces by what follows from them: the instance type and the preference by their content, if
 * the cluster is configured so, and the volumes that refer to them by their names.
 */
const RESOLVED = new Set(['inferFromVolume', 'inferFromVolumeFailurePolicy', 'instancetype', 'preference']);

/**
 * Reports whether `actual` has all that `wanted` sets, whatever else it has. KubeVirt's webhook writes each VM anew:
 * other spellings of a quantity, and zero values that are absent, make no difference. `key` is the name of the field,
 * or of the list that contains it.
 */
export function contains(actual: unknown, wanted: unknown, key = ''): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (actual === undefined || actual === null) return RESOLVED.has(key) || isDefault(wanted, key);
  if (isObject(wanted)) {
    if (!isObject(actual)) return false;
    return Object.entries(wanted).every(([each, value]) => contains(field(actual, each), value, each));
  }
  if (Array.isArray(wanted)) return Array.isArray(actual) && containsAll(actual, wanted, key);
  if (actual === wanted) return true;
  // What is an int in a template may be a text in what it becomes.
  if (isScalar(actual) && isScalar(wanted) && String(actual) === String(wanted)) return true;
  return QUANTITIES.has(key) && isSameQuantity(actual, wanted);
}

const isScalar = (value: unknown): value is string | number | boolean => typeof value !== 'object';

function containsAll(actual: readonly unknown[], wanted: readonly unknown[], key: string): boolean {
  const [named, expected] = [byName(actual), byName(wanted)];
  if (named !== undefined && expected !== undefined)
    return [...expected].every(([name, item]) => named.has(name) && contains(named.get(name), item, key));
  if (wanted.every(isObject)) return wanted.every((item) => actual.some((one) => contains(one, item, key)));
  // A list of texts or numbers is one value: a command.
  return actual.length === wanted.length && wanted.every((item, index) => contains(actual[index], item, key));
}

/** Reports whether the value is what KubeVirt makes of an absent field. */
function isDefault(wanted: unknown, key: string): boolean {
  if (wanted === false) return !ON_BY_DEFAULT.has(key);
  if (wanted === 0) return !MORE_BY_DEFAULT.has(key);
  if (Array.isArray(wanted)) return wanted.length === 0;
  return wanted === '' || (isObject(wanted) && MAPS.has(key) && Object.keys(wanted).length === 0);
}
