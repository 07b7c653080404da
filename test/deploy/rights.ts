import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../api/objects.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

export const readManifests = (file: string): KubeObject[] =>
  parseAllDocuments(readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')).map(
    (document) => document.toJS() as KubeObject,
  );

export const rulesOf = (role: KubeObject): Rule[] => role['rules'] as Rule[];

/** Returns all that a role allows, each as `verb resource.group` or `verb resource.group/subresource`. */
export const rightsOf = (role: KubeObject): string[] =>
  rulesOf(role)
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => right(verb, group, ...resource.split('/')))),
      ),
    )
    .sort();

const PATH =
  /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/[^/]+)?\/([^/?]+)(?:\/([^/?]+))?(?:\/([^/?]+))?(?:\?(.*))?$/;
const WRITES: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Returns the right that a call to the API server needs, in the format of `rightsOf`. */
export function rightFor(method: string, url: string): string {
  const [, group = '', resource = '', name, subresource, query = ''] = PATH.exec(url) ?? [];
  if (resource === '') return `${method} ${url}`;
  const reads = new URLSearchParams(query).get('watch') === 'true' ? 'watch' : name === undefined ? 'list' : 'get';
  return right(WRITES[method] ?? reads, group, resource, subresource);
}

/** Returns a right in the format of `rightsOf`. */
export const right = (verb: string, group: string, resource = '', subresource?: string): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
