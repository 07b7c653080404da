import type { KubeObject } from '../../../api/objects.ts';
import type { Identity } from '../../../api/owner-references.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';
import { ObjectIndex } from './object-index.ts';

interface LabelledObjectsOptions<O extends KubeObject, V> extends Omit<ListWatchOptions<O, V | null>, 'onChange'> {
  labelSelector: string;
  /** Returns the UID of what the object belongs to in its namespace; null if it belongs to nothing. */
  ownerOf: (view: V) => string | null;
  onChange?: (before: V | undefined, after: V | undefined) => void;
}

/**
 * A cache of the objects that carry a label of drover's, by what they belong to. Anybody may set a label: the view of
 * an object that is not drover's is null, and its changes are not reported.
 */
export class LabelledObjects<O extends KubeObject, V extends { namespace: string; name: string }> extends ListWatch<
  O,
  V | null
> {
  readonly #byOwner: ObjectIndex<V>;

  constructor({ ownerOf, onChange, ...options }: LabelledObjectsOptions<O, V>) {
    const byOwner = new ObjectIndex<V>((view) => {
      const owner = ownerOf(view);
      return owner === null ? [] : [`${view.namespace}/${owner}`];
    });
    super({
      ...options,
      onChange: (_key, former, latter) => {
        const [before, after] = [former ?? undefined, latter ?? undefined];
        if (before === undefined && after === undefined) return;
        byOwner.change(before, after);
        onChange?.(before, after);
      },
    });
    this.#byOwner = byOwner;
  }

  /** Returns the objects that belong to this owner, in no particular order. */
  of({ namespace, uid }: Identity): V[] {
    return this.#byOwner.of(`${namespace}/${uid}`);
  }
}
