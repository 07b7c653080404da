import type { Stored } from '../../api/objects.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { noteBrokenWatch } from '../cli/print.ts';
import { picks, selectorOf, type Listing } from './listing.ts';

/**
 * Calls `show` with each object of the listing that is new, changed or deleted (in its last state), until the process
 * ends.
 */
export async function follow(listing: Listing, shown: Stored[], show: (object: Stored) => void): Promise<never> {
  const { kube, resource, namespace } = listing;
  const picked = await picks(listing);
  const seen = new Map(shown.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
  new ListWatch<Stored, Stored>({
    client: kube,
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...selectorOf(listing),
    view: (object) => object,
    onChange: (_key, before, after) => {
      const object = after ?? before!;
      const { uid, resourceVersion } = object.metadata;
      const known = after !== undefined && seen.get(uid) === resourceVersion;
      seen.delete(uid);
      if (!known && picked(object)) show(object);
    },
    onError: noteBrokenWatch,
  }).start();
  return new Promise(() => {});
}
