import { Command } from 'commander';
import { UsageError } from '../cli/failure.ts';
import { Disks, Pools, Vms } from '../cli/kinds.ts';
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
  output?: Format;
  watch?: boolean;
  headers: boolean;
  showManagedFields?: boolean;
}

export const getCommand = (): Command =>
  new Command('get')
    .description('list pools, VMs or kept disks; a pool that is named comes with its VMs beneath')
    .argument('<kind>', 'pools, vms or disks, or KIND/NAME')
    .argument('[names...]')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'only VMs that this pool owns, or disks that it has kept')
    .addOption(formatOption())
    .option('-w, --watch', 'go on, and print each change')
    .option('--no-headers', 'leave out the line of headers')
    .option('--show-managed-fields', 'keep metadata.managedFields in json and yaml')
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace', 'drover get pools'],
        ['One pool and its VMs', 'drover get pool web'],
        ['The VMs of a pool, with what is seldom needed', 'drover get vms --pool web -o wide'],
        ['Disks that VMs have left for the next of their numbers', 'drover get disks'],
        ['Follow the pools of all namespaces', 'drover get pools -A --watch'],
      ),
    )
    .action((word: string, words: string[], options: GetOptions, command: Command) =>
      inSession(command, (session) =>
        get(session, checked(targetsOf([word, ...words], [Pools, Vms, Disks]), options), options),
      ),
    );

function checked(targets: Targets, { allNamespaces, selector, pool }: GetOptions): Targets {
  if (targets.names.length > 0 && allNamespaces === true)
    throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
  if (targets.names.length > 0 && selector !== undefined) throw new UsageError('give names or a selector, not both');
  if (pool !== undefined && targets.kind === Pools)
    throw new UsageError('--pool picks VMs or disks: `drover get vms --pool NAME`');
  if (pool !== undefined && allNamespaces === true)
    throw new UsageError('a pool is looked for in one namespace: leave out -A or --pool');
  return targets;
}

async function get(session: Session, { kind: { resource }, names }: Targets, options: GetOptions): Promise<void> {
  const { selector, pool } = options;
  await checkSelector(selector);
  const namespace = options.allNamespaces === true ? undefined : await session.namespace();
  const listing: Listing = {
    kube: await session.kube(),
    resource,
    columns: columnsFor(resource),
    namespace,
    names,
    selector,
    pool,
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
