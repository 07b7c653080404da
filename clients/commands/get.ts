import { Command } from 'commander';
import { withoutManagedFields, type Stored } from '../../api/objects.ts';
import { UsageError } from '../cli/failure.ts';
import { Disks, kindArguments, KINDS, OWNERS, Vmis, Vms, type Kind } from '../cli/kinds.ts';
import { examples, formatOption } from '../cli/options.ts';
import { checkSelector } from '../cli/parse-flag.ts';
import { print, serialize, type Format } from '../cli/print.ts';
import { ownerOf, targetsOf, type NamedOwner, type Targets } from '../cli/targets.ts';
import { columnsFor, read, type Listing } from '../owners/listing.ts';
import { printerOf } from '../owners/printers.ts';
import { inSession, type Session } from '../session/session.ts';

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

export const getCommand = (): Command =>
  new Command('get')
    .description('list pools, replica sets, VMs, VMIs or kept disks; a named pool or set is shown with its VMs or VMIs')
    .argument('<kind>', `${kindArguments(KINDS)}, KIND/NAME or KIND,KIND`)
    .argument('[names...]')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'only VMs that this pool owns, or disks that it has kept')
    .option('--owner <kind/name>', 'only VMs, or VMIs, that this pool or replica set owns, such as vmrs/runners')
    .addOption(formatOption())
    .option('-w, --watch', 'keep watching, and print each change')
    .option('--no-headers', 'leave out the line of headers')
    .option('--show-managed-fields', 'keep metadata.managedFields in json and yaml')
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace', 'drover get pools'],
        ['All pools and replica sets of the cluster', 'drover get pools,vmrs,dvmirs -A'],
        ['One pool and its VMs', 'drover get pool web'],
        ['A replica set and its VMs', 'drover get vmrs runners'],
        ['The VMIs of a set of instances alone', 'drover get vmis --owner dvmirs/frontend'],
        ['The VMs of a pool, with more columns', 'drover get vms --pool web -o wide'],
        ['Disks that VMs have left for the next of their numbers', 'drover get disks'],
        ['Follow the pools of all namespaces', 'drover get pools -A --watch'],
      ),
    )
    .action((word: string, words: string[], options: GetOptions, command: Command) =>
      inSession(command, (session) =>
        word.includes(',')
          ? getKinds(session, kindsOf(word, words, options), options)
          : get(session, checked(targetsOf([word, ...words], KINDS), options), options),
      ),
    );

/** Parses `pools,vmrs`. */
function kindsOf(word: string, names: readonly string[], options: GetOptions): Targets[] {
  if (names.length > 0) throw new UsageError(`${word} ${names.join(' ')}: names are of one kind`);
  if (options.watch === true) throw new UsageError('--watch follows one kind');
  return word.split(',').map((kind) => checked(targetsOf([kind.trim()], KINDS), options));
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
    const { follow } = await import('../owners/follow.ts');
    await follow(listing, objects, (object) => void printer.one(object));
  }
  await printer.all();
}
