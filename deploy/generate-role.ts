import { readFileSync, writeFileSync } from 'node:fs';
import { parseAllDocuments, stringify } from 'yaml';
import { CLAIM_VERB } from '../api/claims/policy.ts';
import * as resources from '../api/resources.ts';
import { isInNamespace, VirtualMachinePools, type Resource } from '../api/resources.ts';

const HEADER = '# Generated from deploy/rbac by deploy/generate-role.ts: what is in one namespace of these rights.';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

/** Kinds without a namespace, or in a namespace that the worker does not serve. */
const OUT_OF_REACH = new Set(
  Object.values(resources).flatMap((one) => (isResource(one) && !isInNamespace(one) ? [one.plural] : [])),
);

function isResource(one: unknown): one is Resource {
  return typeof one === 'object' && one !== null && 'plural' in one;
}

/** By its UID, it is known which namespace this is; by its Lease, that it is left to these workers. */
const ITS_NAMESPACE: Rule = { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] };
const claim = (...verbs: string[]): Rule => ({ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs });

/** The right that the policy claims.drover.dev asks for. */
const MAY_CLAIM: Rule = {
  apiGroups: [VirtualMachinePools.group],
  resources: [VirtualMachinePools.plural],
  verbs: [CLAIM_VERB],
};

function rulesIn(file: string, name: string): Rule[] {
  const documents = parseAllDocuments(readFileSync(new URL(`rbac/${file}`, import.meta.url), 'utf8'));
  const objects = documents.map((one) => one.toJS() as { kind: string; metadata: { name: string }; rules: Rule[] });
  return objects.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name)!.rules;
}

const withinNamespace = (rules: Rule[]): Rule[] =>
  rules.flatMap((rule) => {
    const kept = rule.resources.filter((resource) => !OUT_OF_REACH.has(resource.split('/')[0]!));
    return kept.length === 0 ? [] : [{ ...rule, resources: kept }];
  });

const roleOf = (name: string, rules: Rule[], ...ownClaim: Rule[]): object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name },
    rules: [...withinNamespace(rules), ITS_NAMESPACE, ...ownClaim],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name }],
  },
];

/** The Roles by which a worker serves one namespace. `node deploy/generate-role.ts` writes them. */
export const roleFile = (): string =>
  [
    ...roleOf('drover-worker', rulesIn('worker.yaml', 'drover-worker'), claim('get')),
    ...roleOf('drover-setup', rulesIn('setup.yaml', 'drover-setup'), claim('get', 'create', 'patch'), MAY_CLAIM),
  ]
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
    .replace(/^/, `${HEADER}\n`);

export const ROLE_FILE = new URL('components/namespaced/role.yaml', import.meta.url);

/** The same rights, and those of a worker of the whole cluster, as `drover doctor` asks for them. */
export function workerRulesFile(): string {
  const cluster = rulesIn('worker.yaml', 'drover-worker');
  const namespaced = [...withinNamespace(cluster), ITS_NAMESPACE, claim('get')];
  return `${JSON.stringify({ cluster: cluster.flatMap(rightsOf), namespaced: namespaced.flatMap(rightsOf) }, null, 2)}\n`;
}

/** Returns a text for each resource: `virtualmachinepools.drover.dev/status get,patch`, or `namespaces get NAME`. */
const rightsOf = ({ apiGroups, resources, resourceNames = [], verbs }: Rule): string[] =>
  apiGroups.flatMap((group) =>
    resources.map((path) => {
      const resource = group === '' ? path : path.replace(/(?=\/|$)/, `.${group}`);
      return [resource, verbs.join(), ...resourceNames].join(' ');
    }),
  );

export const WORKER_RULES_FILE = new URL('../clients/doctor/worker-rules.json', import.meta.url);

if (import.meta.main) {
  writeFileSync(ROLE_FILE, roleFile());
  writeFileSync(WORKER_RULES_FILE, workerRulesFile());
}
