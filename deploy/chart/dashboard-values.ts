import * as z from 'zod';
import { schemaOf } from '../../workers/settings/schema.ts';
import { eachSetting, isOfDashboard } from '../../workers/settings/settings.ts';
import { firstIn, flag, kubernetesList, resources, text } from './kubernetes-parts.ts';

const { spec } = firstIn('components/dashboard/dashboard.yaml');

/** Variables that the manifests or other values set. */
const SET_OTHERWISE = /^DROVER_DASHBOARD_(PORT|PROXY_CA|PROXY_NAMES|TLS_CERT|TLS_KEY|ORIGINS)$/;

const settings = Object.fromEntries(
  eachSetting()
    .filter(([name, { variable }]) => isOfDashboard(name) && !SET_OTHERWISE.test(variable))
    .map(([, setting]) => [
      setting.variable,
      schemaOf(setting)
        .optional()
        .describe(`${setting.what}; default: ${setting.value ?? setting.without}`),
    ]),
);
const names = (what: string) => z.array(z.string().min(1)).default([]).describe(what);

/** The values of the dashboard that many users share, behind a proxy. */
export const DashboardValues = z
  .strictObject({
    enabled: flag(
      false,
      'serve [the page of `drover dashboard`](../docs/dashboard.md#in-the-cluster) behind a proxy that knows the users; not with `namespaces`',
    ),
    origins: z
      .array(z.string().regex(/^https:\/\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d+)?$/))
      .default([])
      .describe('how browsers reach the proxy, such as `[https://drover.example.com]`; must be given'),
    proxy: z
      .strictObject({
        caSecretName: text(
          'drover-dashboard-proxy-ca',
          "a Secret with the authority of the proxy's client certificate, and of no other certificates",
        ),
        caKey: text('ca.crt', 'the key in it'),
        names: names(
          "names, one of which the proxy's certificate must have: its common name, a DNS name or a URI; any certificate of the authority if there are none",
        ),
      })
      .prefault({}),
    tls: z
      .strictObject({
        secretName: text(
          'drover-dashboard-tls',
          'a Secret with `tls.crt` and `tls.key`, which the proxy is shown. Renewals of both Secrets are followed without a restart',
        ),
      })
      .prefault({}),
    impersonate: z
      .strictObject({
        users: names('the only users in whose name it may ask; all if there are none, administrators among them'),
        groups: names('the only groups in whose name it may ask; all if there are none, administrators among them'),
      })
      .prefault({}),
    readOnly: flag(false, 'refuse everything that changes something'),
    settings: z.strictObject(settings).prefault({}).describe('[variables](../docs/settings.md) of the dashboard'),
    replicas: z.int().min(0).default(spec.replicas).describe('how many pods there are'),
    resources: resources(
      spec.template.spec.containers[0],
      'requests and limits; [what a user takes](../docs/dashboard.md#what-it-takes)',
    ),
    topologySpreadConstraints: kubernetesList(
      'in place of the default, which spreads its pods over nodes as far as possible',
    ),
    networkPolicy: z
      .strictObject({
        from: kubernetesList(
          'where the proxy is, in place of pods and namespaces with the label `drover.dev/dashboard-proxy: "true"`',
        ),
      })
      .prefault({}),
  })
  .prefault({});
