import { vi } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import type { ObjectKey, WriteOptions } from '../../../kubernetes/client.ts';
import type { StillClient } from './still-client.ts';

type Call = (resource: Resource, of: ObjectKey | KubeObject, ...more: unknown[]) => Promise<unknown>;

const CALLS = {
  get: 'get',
  getMetadata: 'get metadata of',
  create: 'create',
  patch: 'patch',
  delete: 'delete',
} as const;

/** Returns a list to which each call for one object is added, such as `patch virtualmachines web-1`. */
export function callsTo(client: StillClient): string[] {
  const calls: string[] = [];
  for (const [method, verb] of Object.entries(CALLS) as [keyof typeof CALLS, string][]) {
    const call = client[method].bind(client) as Call;
    const noting: Call = (resource, of, ...more) => {
      const isDryRun = more.some((options) => (options as WriteOptions | undefined)?.dryRun === true);
      const name = 'metadata' in of ? of.metadata.name : of.name;
      calls.push(
        `${isDryRun ? 'dry run: ' : ''}${verb} ${resource.plural}${resource.plural === 'events' ? '' : ` ${name}`}`,
      );
      return call(resource, of, ...more);
    };
    vi.spyOn(client, method).mockImplementation(noting as never);
  }
  return calls;
}
