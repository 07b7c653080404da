import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { droverCrds } from '../../api/crd/crds.ts';
import { DEFINITIONS_POLICY } from '../../api/crd/keep-definitions.ts';
import { ValidatingAdmissionPolicies } from '../../api/resources.ts';
import { ADMISSION_POLICIES } from '../../clients/setup/policies.ts';
import { ROLE_FILE, roleFile, WORKER_RULES_FILE, workerRulesFile } from '../../deploy/generate-role.ts';
import { settingsPage } from '../../deploy/generate-settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig } from '../../workers/config.ts';
import { imageEnvironment } from './dockerfile.ts';
import { readManifests, rightsOf, rulesOf } from './rights.ts';

const folder = new URL('../../deploy/', import.meta.url);

interface Kustomization {
  resources: string[];
  configMapGenerator: { name: string; literals: string[] }[];
}
interface Pod {
  containers: {
    image: string;
    args: string[];
    envFrom: unknown[];
    ports?: { name: string; containerPort: number }[];
    livenessProbe?: { httpGet: { path: string; port: string } };
    readinessProbe?: { httpGet: { path: string; port: string } };
  }[];
}

const kustomization = parse(readFileSync(new URL('kustomization.yaml', folder), 'utf8')) as Kustomization;
const [deployment, disruption] = readManifests('worker.yaml');
const [job] = readManifests('setup.yaml');
const containerOf = (object: object): Pod['containers'][number] =>
  (object as { spec: { template: { spec: Pod } } }).spec.template.spec.containers[0]!;
const plurals = droverCrds().map(({ spec }) => spec.names.plural);
const scaled = droverCrds().flatMap(({ spec }) =>
  spec.versions[0]!.subresources.scale === undefined ? [] : [spec.names.plural],
);
const roleOf = (file: string, name: string) =>
  readManifests(file).find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name)!;

test('the kustomization includes every manifest of the folder, except optional parts', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.yaml') && !/^(kustomization|Chart|values)\.yaml$|^(components|monitoring|templates)\//.test(file),
  );
  expect(kustomization.resources.toSorted()).toEqual(files.toSorted());
});

test('the setup may write each policy, the docs say how to remove it, and none lets a creation do what it refuses a change', () => {
  const policies = ADMISSION_POLICIES.filter(({ resource }) => resource === ValidatingAdmissionPolicies);
  const names = policies.map(({ object }) => object.metadata.name);
  const role = rulesOf(roleOf('rbac/setup.yaml', 'drover-setup'));
  expect(role.find(({ resources }) => resources[0] === ValidatingAdmissionPolicies.plural)!.resourceNames).toEqual(
    names,
  );
  const [, removal = ''] = /kubectl delete validatingadmissionpolicy,\S+ \\([^`]*)```/.exec(
    readFileSync(new URL('../../docs/outages.md', import.meta.url), 'utf8'),
  )!;
  expect(removal.match(/\S+[.]drover[.]dev/g)).toEqual(names);
  for (const { object } of policies) {
    const { matchConstraints } = object['spec'] as { matchConstraints: { resourceRules: { operations: string[] }[] } };
    const { name } = object.metadata;
    // Definitions are kept, whoever makes them.
    if (name === DEFINITIONS_POLICY.policy.metadata.name) continue;
    for (const { operations } of matchConstraints.resourceRules.filter((one) => one.operations.includes('UPDATE')))
      expect({ name, operations }).toEqual({ name, operations: expect.arrayContaining(['CREATE']) });
  }
});

test("the roles cover each of drover's kinds", () => {
  expect(rulesOf(roleOf('rbac/setup.yaml', 'drover-setup'))[0]!.resourceNames).toEqual(
    droverCrds().map(({ metadata }) => metadata.name),
  );
  for (const plural of plurals) {
    expect(rightsOf(roleOf('rbac/setup.yaml', 'drover-setup'))).toContain(`list ${plural}.drover.dev`);
    expect(rightsOf(roleOf('rbac/worker.yaml', 'drover-worker'))).toContain(`patch ${plural}.drover.dev/status`);
    expect(rightsOf(roleOf('rbac/users.yaml', 'drover-view'))).toContain(`watch ${plural}.drover.dev`);
    expect(rightsOf(roleOf('rbac/users.yaml', 'drover-edit'))).toContain(`create ${plural}.drover.dev`);
  }
  for (const plural of scaled)
    expect(rightsOf(roleOf('rbac/users.yaml', 'drover-edit'))).toContain(`patch ${plural}.drover.dev/scale`);
});

test('the Roles of workers of one namespace are kept as generated, and cover what is in a namespace', () => {
  expect(readFileSync(ROLE_FILE, 'utf8')).toBe(roleFile());
  expect(readFileSync(WORKER_RULES_FILE, 'utf8')).toBe(workerRulesFile());
  const [role] = readManifests('components/namespaced/role.yaml');
  const [own, all] = [rightsOf(role!), rightsOf(roleOf('rbac/worker.yaml', 'drover-worker'))];
  const added = ['get leases.coordination.k8s.io'];
  expect(own.filter((right) => !all.includes(right))).toEqual(added);
  const beyond = /^\w+ (?:nodes|namespaces|kubevirts|leases|selfsubjectaccessreviews|clustervirtualmachine\w+)\b/;
  expect(all.filter((right) => !own.includes(right) && !beyond.test(right))).toEqual([]);
});

test('the pods run this version of drover, with the commands that it has', () => {
  expect([deployment!, job!].map((object) => containerOf(object).image)).toEqual([
    `drover:${packageJson.version}`,
    `drover:${packageJson.version}`,
  ]);
  expect([deployment!, job!].map((object) => containerOf(object).args)).toEqual([['worker'], ['setup']]);
});

test('no Service of the namespace can set a setting', () => {
  const pods = [deployment!, job!, ...readManifests('components/dashboard/dashboard.yaml')].flatMap((object) => {
    const { template } = (object as unknown as { spec: { template?: { spec: { enableServiceLinks?: boolean } } } })
      .spec;
    return template === undefined ? [] : [template.spec.enableServiceLinks];
  });
  expect(pods).toEqual([false, false, false]);
});

test("the probes use the port and path of the image's worker", () => {
  const { ports, livenessProbe, readinessProbe } = containerOf(deployment!);
  expect(readConfig(imageEnvironment()).health).toEqual({ address: '::', port: ports![0]!.containerPort });
  expect(livenessProbe!.httpGet).toEqual({ path: '/healthz', port: ports![0]!.name });
  expect(readinessProbe!.httpGet).toEqual({ path: '/readyz', port: ports![0]!.name });
});

test('the Job of the setup is made by tools once for each sync, not whenever it is gone', () => {
  expect(job!.metadata.annotations).toMatchObject({
    'argocd.argoproj.io/hook': 'Sync',
    'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
    'kustomize.toolkit.fluxcd.io/force': 'enabled',
  });
});

test('no tool deletes the custom resources with the rest', () => {
  for (const { metadata } of droverCrds())
    expect(metadata.annotations).toMatchObject({
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
      'helm.sh/resource-policy': 'keep',
      'kustomize.toolkit.fluxcd.io/prune': 'disabled',
    });
});

test("the worker's metrics and those of Temporal's SDK can be scraped, on the ports that docs/security.md names", () => {
  const [policy] = readManifests('networkpolicy.yaml') as unknown as [{ spec: { ingress: { ports: object[] }[] } }];
  expect(policy.spec.ingress[0]!.ports).toEqual([{ port: 8080 }, { port: 9090 }]);
  const page = readFileSync(new URL('../docs/security.md', folder), 'utf8');
  expect(page).toContain('on the ports 8080 and 9090');
  const { health, temporalMetrics } = readConfig(imageEnvironment());
  expect(containerOf(deployment!).ports!.map(({ containerPort }) => containerPort)).toEqual([health!.port, 9090]);
  expect(temporalMetrics).toEqual({ address: '::', port: 9090 });
});

test('a disruption leaves one worker running, and there are several', () => {
  const { spec } = disruption as unknown as { spec: { maxUnavailable: number; selector: object } };
  const { replicas, selector } = deployment!['spec'] as { replicas: number; selector: object };
  expect(spec.selector).toEqual(selector);
  expect(replicas).toBeGreaterThan(spec.maxUnavailable);
});

test('the pods are configured by variables that drover reads', () => {
  const [{ name, literals }] = kustomization.configMapGenerator as [Kustomization['configMapGenerator'][number]];
  for (const object of [deployment!, job!]) {
    expect(containerOf(object).envFrom).toEqual([
      { configMapRef: { name } },
      { secretRef: { name: 'drover-temporal', optional: true } },
    ]);
  }
  expect(literals.map((literal) => literal.split('=')[0])).toEqual([
    'TEMPORAL_ADDRESS',
    'TEMPORAL_NAMESPACE',
    'DROVER_CLUSTER',
  ]);
  expect(() =>
    readConfig(Object.fromEntries(literals.map((literal) => literal.split('=') as [string, string]))),
  ).not.toThrow();
});

test('docs/settings.md lists all settings as they are', () => {
  expect(readFileSync(new URL('../docs/settings.md', folder), 'utf8')).toBe(settingsPage());
});
