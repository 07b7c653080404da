import { withoutManagedFields, type Stored } from '../../api/objects.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { UsageError } from '../cli/failure.ts';
import { Disks, KINDS, OWNERS, Vmis, Vms, type Kind } from '../cli/kinds.ts';
import { checkSelector } from '../cli/parse-values.ts';
import { printBrokenWatch, print, serialize, type Format } from '../cli/print.ts';
import { ownerOf, targetsOf, type NamedOwner, type Targets } from '../cli/targets.ts';
import type { Session, Work } from '../session/session.ts';
import { columnsFor, picks, read, selectorOf, type Listing } from './listing.ts';
import { printerOf } from './printers.ts';

interface GetOptions {
  allNamespaces?: boolean;
  selector?: string;
  pool?: string;
  owner?: string;
  output?: Format;
  watch?: boolean;
  headers: boolean;
  showManagedFields?: boolean;
}

/** Prints objects of a kind, or of several. */
export const getObjects: Work<GetOptions> = (session, options, arg: string, ...names) =>
  arg.includes(',')
    ? getKinds(session, kindsOf(arg, names, options), options)
    : get(session, checked(targetsOf([arg, ...names], KINDS), options), options);

/** Parses `pools,vmrs`. */
function kindsOf(arg: string, names: readonly string[], options: GetOptions): Targets[] {
  if (names.length > 0) throw new UsageError(`${arg} ${names.join(' ')}: names are of one kind`);
  if (options.watch === true) throw new UsageError('--watch follows one kind');
  return arg.split(',').map((kind) => checked(targetsOf([kind.trim()], KINDS), options));
}

/** Lists objects of several kinds: each in a table of its own, or all in one list for programs. */
async function getKinds(session: Session, kinds: readonly Targets[], options: GetOptions): Promise<void> {
  const { output } = options;
  if (output === 'json' || output === 'yaml') {
    const objects: Stored[] = [];
    for (const targets of kinds) objects.push(...(await read(await listingOf(session, targets, options))));
    const shown = options.showManagedFields === true ? objects : objects.map(withoutManagedFields);
    return print(await serialize(shown, output));
  }
  for (const [index, targets] of kinds.entries()) {
    if (index > 0 && output !== 'name') print('');
    await get(session, targets, options);
  }
}

function checked(targets: Targets, options: GetOptions): Targets & { of: NamedOwner | undefined } {
  const { allNamespaces, selector } = options;
  if (targets.names.length > 0 && allNamespaces === true)
    throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
  if (targets.names.length > 0 && selector !== undefined) throw new UsageError('give names or a selector, not both');
  checkOwnerOptions(targets.kind, options);
  const of = ownerOf(options, OWNERS);
  if (of !== undefined) checkMembers(targets.kind, of, options);
  return { ...targets, of };
}

function checkOwnerOptions(kind: Kind, { pool, owner }: GetOptions): void {
  if (pool !== undefined && owner === undefined && kind !== Vms && kind !== Disks)
    throw new UsageError('--pool picks VMs or disks: `drover get vms --pool NAME`');
  if (owner !== undefined && pool === undefined && kind !== Vms && kind !== Vmis)
    throw new UsageError('--owner picks VMs or VMIs: `drover get vms --owner KIND/NAME`');
}

function checkMembers({ resource }: Kind, { kind: { members } }: NamedOwner, { owner }: GetOptions): void {
  if (owner === undefined || members.resource === resource) return;
  const { noun } = members;
  throw new UsageError(
    `--owner: ${owner} owns ${noun}s: \`drover get ${noun.toLowerCase()}s --owner ${owner}\` lists them`,
  );
}

type Chosen = Targets & { of?: NamedOwner | undefined };

async function listingOf(session: Session, { kind, names, of }: Chosen, options: GetOptions): Promise<Listing> {
  const { selector } = options;
  await checkSelector(selector);
  const namespace = options.allNamespaces === true ? undefined : await session.namespace();
  const { resource } = kind;
  const columns = columnsFor(resource);
  return { kube: await session.kube(), resource, columns, namespace, names, selector, owner: of };
}

async function get(session: Session, targets: Chosen, options: GetOptions): Promise<void> {
  const listing = await listingOf(session, targets, options);
  const objects = await read(listing);
  const printer = printerOf(listing, objects, options);
  if (options.watch === true) {
    for (const object of objects) await printer.one(object);
    await follow(listing, objects, (object) => void printer.one(object));
  }
  await printer.all();
}

/**
 * Calls `show` with each object of the listing that is new, changed or deleted (in its last state), until the process
 * ends.
 */
async function follow(listing: Listing, shown: Stored[], show: (object: Stored) => void): Promise<never> {
  const { kube, resource, namespace } = listing;
  const picked = await picks(listing);
  const seen = new Map(shown.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
  new ListWatch<Stored, Stored>({
    client: kube,
    resource,
    namespace,
    labelSelector: selectorOf(listing),
    view: (object) => object,
    onChange: (_key, before, after) => {
      const object = after ?? before!;
      const { uid, resourceVersion } = object.metadata;
      const known = after !== undefined && seen.get(uid) === resourceVersion;
      seen.delete(uid);
      if (!known && picked(object)) show(object);
    },
    onError: printBrokenWatch,
  }).start();
  return new Promise(() => {});
}
