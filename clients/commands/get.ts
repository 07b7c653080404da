import { Command } from 'commander';
import type { Stored } from '../../kubernetes/objects.ts';
import { headersOf, rowOf } from '../columns.ts';
import { UsageError } from '../failure.ts';
import { columnsFor, read, type Listing } from '../listing.ts';
import { examples, formatOption } from '../options.ts';
import { note, print, serialize, table, widthsOf, withoutManagedFields, type Format } from '../output.ts';
import { inSession, type Session } from '../session.ts';
import { Pools, targetsOf, Vms, type Targets } from '../targets.ts';

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
    .description('list pools or VMs; a pool that is named comes with its VMs beneath')
    .argument('<kind>', 'pools or vms, or KIND/NAME')
    .argument('[names...]')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'only VMs that this pool owns')
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
        ['Follow the pools of all namespaces', 'drover get pools -A --watch'],
      ),
    )
    .action((word: string, words: string[], options: GetOptions, command: Command) =>
      inSession(command, (session) => get(session, checked(targetsOf([word, ...words], [Pools, Vms]), options), options)),
    );

function checked(targets: Targets, { allNamespaces, selector, pool }: GetOptions): Targets {
  if (targets.names.length > 0 && allNamespaces === true) throw new UsageError('a name is looked for in one namespace: leave out -A or the name');
  if (targets.names.length > 0 && selector !== undefined) throw new UsageError('give names or a selector, not both');
  if (pool !== undefined && targets.kind !== Vms) throw new UsageError('--pool picks VMs: `drover get vms --pool NAME`');
  if (pool !== undefined && allNamespaces === true) throw new UsageError('a pool is looked for in one namespace: leave out -A or --pool');
  return targets;
}

async function get(session: Session, { kind: { resource }, names }: Targets, options: GetOptions): Promise<void> {
  const namespace = options.allNamespaces === true ? undefined : await session.namespace();
  const { selector, pool } = options;
  const listing: Listing = { kube: await session.kube(), resource, columns: columnsFor(resource), namespace, names, selector, pool };
  const objects = await read(listing);
  const printer = printerOf(listing, objects, options);
  if (options.watch === true) {
    for (const object of objects) await printer.one(object);
    const { follow } = await import('../follow.ts');
    await follow(listing, objects, (object) => void printer.one(object));
  }
  await printer.all();
}

/** Prints everything at once, or object by object as they change. */
interface Printer {
  all: () => Promise<void>;
  one: (object: Stored) => Promise<void>;
}

function printerOf(listing: Listing, objects: Stored[], options: GetOptions): Printer {
  const { output } = options;
  return output === undefined || output === 'wide' ? tablePrinter(listing, objects, options) : serialPrinter(listing, objects, output, options);
}

function serialPrinter({ names }: Listing, objects: Stored[], format: 'json' | 'yaml' | 'name', options: GetOptions): Printer {
  const shown = (object: Stored): Stored => (options.showManagedFields === true ? object : withoutManagedFields(object));
  return {
    all: async () => {
      if (objects.length === 0 && format === 'name') return;
      print(await serialize(names.length === 1 ? shown(objects[0]!) : objects.map(shown), format));
    },
    one: async (object) => print((format === 'yaml' ? '---\n' : '') + (await serialize(shown(object), format))),
  };
}

function tablePrinter(listing: Listing, objects: Stored[], options: GetOptions): Printer {
  const { kube, resource, columns, namespace, names } = listing;
  const choice = { wide: options.output === 'wide', namespaces: namespace === undefined };
  const headers = headersOf(columns, choice);
  const widths = widthsOf(headers, objects.map((object) => rowOf(columns, choice, object)));
  let first = options.headers;
  return {
    all: async () => {
      if (objects.length === 0) return note(`No resources found${namespace === undefined ? '' : ` in ${namespace} namespace`}.`);
      if (resource === Pools.resource && names.length > 0 && namespace !== undefined) {
        const { poolTrees } = await import('../pool-tree.ts');
        return print((await poolTrees(kube, objects, namespace, choice.wide)).join('\n'));
      }
      print(table(headers, objects.map((object) => rowOf(columns, choice, object)), { headers: options.headers }).join('\n'));
    },
    one: async (object) => {
      print(table(headers, [rowOf(columns, choice, object)], { headers: first, widths }).join('\n'));
      first = false;
    },
  };
}
