import { Command } from 'commander';
import { UsageError } from '../cli/failure.ts';
import { aNoun, Disks, firstWords, KINDS, OWNERS, Pools, Vmis, Vms, type Kind, type OwnerKind } from '../cli/kinds.ts';
import { examples, formatOption } from '../cli/options.ts';
import type { Format } from '../cli/output.ts';
import { printerOf } from '../cli/printers.ts';
import { targetsOf, type Targets } from '../cli/targets.ts';
import { checkSelector } from '../cli/usable.ts';
import { columnsFor, read, type Listing } from '../owners/listing.ts';
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
    .description(
      'list pools, replica sets, VMs, VMIs or kept disks; a pool or set that is named comes with its VMs or VMIs beneath',
    )
    .argument('<kind>', `${firstWords(KINDS)}, or KIND/NAME`)
    .argument('[names...]')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'only VMs that this pool owns, or disks that it has kept')
    .option('--owner <kind/name>', 'only VMs, or VMIs, that this pool or replica set owns, such as vmrs/runners')
    .addOption(formatOption())
    .option('-w, --watch', 'go on, and print each change')
    .option('--no-headers', 'leave out the line of headers')
    .option('--show-managed-fields', 'keep metadata.managedFields in json and yaml')
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace', 'drover get pools'],
        ['One pool and its VMs', 'drover get pool web'],
        ['A replica set and its VMs', 'drover get vmrs runners'],
        ['The VMIs of a set of instances alone', 'drover get vmis --owner dvmirs/frontend'],
        ['The VMs of a pool, with what is seldom needed', 'drover get vms --pool web -o wide'],
        ['Disks that VMs have left for the next of their numbers', 'drover get disks'],
        ['Follow the pools of all namespaces', 'drover get pools -A --watch'],
      ),
    )
    .action((word: string, words: string[], options: GetOptions, command: Command) =>
      inSession(command, (session) => get(session, checked(targetsOf([word, ...words], KINDS), options), options)),
    );

/** What `--pool` or `--owner` limit the listing to. */
type Of = { kind: OwnerKind; name: string } | undefined;

function checked(targets: Targets, options: GetOptions): Targets & { of: Of } {
  const { allNamespaces, selector } = options;
  if (targets.names.length > 0 && allNamespaces === true)
    throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
  if (targets.names.length > 0 && selector !== undefined) throw new UsageError('give names or a selector, not both');
  const of = ownerOf(targets.kind, options);
  if (of !== undefined && allNamespaces === true)
    throw new UsageError(`${aNoun(of.kind)} is looked for in one namespace: leave out -A or its name`);
  return { ...targets, of };
}

function ownerOf(kind: Kind, { pool, owner }: GetOptions): Of {
  if (pool !== undefined && owner !== undefined) throw new UsageError('give --pool or --owner, not both');
  if (pool !== undefined && kind !== Vms && kind !== Disks)
    throw new UsageError('--pool picks VMs or disks: `drover get vms --pool NAME`');
  if (pool !== undefined) return { kind: Pools, name: pool };
  if (owner === undefined) return undefined;
  if (kind !== Vms && kind !== Vmis)
    throw new UsageError('--owner picks VMs or VMIs: `drover get vms --owner KIND/NAME`');
  if (!owner.includes('/')) throw new UsageError(`--owner: "${owner}" is no KIND/NAME, such as vmrs/runners`);
  const { kind: ownerKind, names } = targetsOf([owner], OWNERS);
  const { resource, noun } = ownerKind.members;
  if (resource !== kind.resource)
    throw new UsageError(
      `--owner: ${owner} owns ${noun}s: \`drover get ${noun.toLowerCase()}s --owner ${owner}\` lists them`,
    );
  return { kind: ownerKind, name: names[0]! };
}

async function get(
  session: Session,
  { kind: { resource }, names, of }: Targets & { of: Of },
  options: GetOptions,
): Promise<void> {
  const { selector } = options;
  await checkSelector(selector);
  const namespace = options.allNamespaces === true ? undefined : await session.namespace();
  const listing: Listing = {
    kube: await session.kube(),
    resource,
    columns: columnsFor(resource),
    namespace,
    names,
    selector,
    owner: of,
  };
  const objects = await read(listing);
  const printer = printerOf(listing, objects, options);
  if (options.watch === true) {
    for (const object of objects) await printer.one(object);
    const { follow } = await import('../owners/follow.ts');
    await follow(listing, objects, (object) => void printer.one(object));
  }
  await printer.all();
}
