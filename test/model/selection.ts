import type { Stored } from '../../api/objects.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Event } from './world/api-server.ts';

/** What a list or a watch asks for. */
interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/**
 * Returns as what a watch with this selection tells of a change; null if it does not. To it, an object appears that
 * begins to match, and one is deleted that matches no more.
 */
export function toldAs({ type, object, before }: Omit<Event, 'version'>, selection: Selection): Event['type'] | null {
  const wasShown = before !== undefined && isSelected(before, selection);
  if (type === 'DELETED' || !isSelected(object, selection)) return wasShown ? 'DELETED' : null;
  return wasShown ? 'MODIFIED' : 'ADDED';
}

/** Reports whether a list or a watch shows the object. */
export function isSelected(object: Stored, { namespace, labelSelector, fieldSelector }: Selection): boolean {
  const { metadata } = object;
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (fieldSelector !== undefined && !hasField(object, fieldSelector)) return false;
  if (labelSelector === undefined) return true;
  return labelSelector.split(',').every((term) => {
    const [key = '', value] = term.split('=');
    if (/^![^ =]+$/.test(term)) return metadata.labels?.[term.slice(1)] === undefined;
    if (term.includes(' ') || term.includes('!'))
      throw new KubeError(400, 'BadRequest', `the model knows no selector ${term}`);
    const label = metadata.labels?.[key];
    return value === undefined ? label !== undefined : label === value;
  });
}

/** Reports whether the object has a value, such as `spec.nodeName=node-1`. */
function hasField(object: Stored, fieldSelector: string): boolean {
  const [path = '', value] = fieldSelector.split('=');
  return path.split('.').reduce<unknown>(fieldOf, object) === value;
}

const fieldOf = (object: unknown, name: string): unknown => (object as Record<string, unknown> | undefined)?.[name];
