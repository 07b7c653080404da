import { withoutManagedFields, type Stored } from '../../api/objects.ts';
import { ownerKindOf } from '../cli/kinds.ts';
import { printNote, print, serialize, table, widthsOf, type Format } from '../cli/print.ts';
import { headersOf, rowOf } from './columns.ts';
import type { Listing } from './listing.ts';

/** Prints everything that was read at once, or object by object as they change. */
interface Printer {
  all: () => Promise<void>;
  one: (object: Stored) => Promise<void>;
}

interface PrintChoice {
  output?: Format;
  headers: boolean;
  showManagedFields?: boolean;
}

export function printerOf(listing: Listing, objects: Stored[], choice: PrintChoice): Printer {
  const { output } = choice;
  return output === undefined || output === 'wide'
    ? tablePrinter(listing, objects, choice)
    : serialPrinter(listing, objects, output, choice);
}

function serialPrinter(
  { names }: Listing,
  objects: Stored[],
  format: 'json' | 'yaml' | 'name',
  choice: PrintChoice,
): Printer {
  const shown = (object: Stored): Stored => (choice.showManagedFields === true ? object : withoutManagedFields(object));
  return {
    all: async () => {
      if (objects.length === 0 && format === 'name') return;
      print(await serialize(names.length === 1 ? shown(objects[0]!) : objects.map(shown), format));
    },
    one: async (object) => print((format === 'yaml' ? '---\n' : '') + (await serialize(shown(object), format))),
  };
}

function tablePrinter(listing: Listing, objects: Stored[], { output, headers: withHeaders }: PrintChoice): Printer {
  const { kube, resource, columns, namespace, names } = listing;
  const choice = { wide: output === 'wide', namespaces: namespace === undefined };
  const headers = headersOf(columns, choice);
  const rows = objects.map((object) => rowOf(columns, choice, object));
  const widths = widthsOf(headers, rows);
  let first = withHeaders;
  return {
    all: async () => {
      if (objects.length === 0)
        return printNote(`No resources found${namespace === undefined ? '' : ` in ${namespace} namespace`}.`);
      const owners = ownerKindOf(resource.kind);
      if (owners !== undefined && names.length > 0 && namespace !== undefined) {
        const { treesOf } = await import('./tree.ts');
        return print((await treesOf(kube, owners, objects, { namespace, wide: choice.wide })).join('\n'));
      }
      print(table(headers, rows, { headers: withHeaders }));
    },
    one: async (object) => {
      print(table(headers, [rowOf(columns, choice, object)], { headers: first, widths }));
      first = false;
    },
  };
}
