import { type AgentSettings, CA_PATH, indented, variablesOf } from './agent-settings.ts';

/**
 * The agents of a region for a Kubernetes cluster: two, so that one runs while a node is drained.
 *
 * @param hasSecrets whether the manifest makes its namespace and its secret itself; otherwise
 *   the kustomization that lists it does, and the authority is in the secret `svc-nats`
 */
export function kubernetesManifest(settings: AgentSettings, { hasSecrets }: { hasSecrets: boolean }): string {
  return [
    ...(hasSecrets ? secretObjects(settings) : HEADER_OF_KUSTOMIZE),
    ...deployment(settings, hasSecrets),
    '---',
    ...disruptionBudget(settings),
    '',
  ].join('\n');
}

const HEADER_OF_KUSTOMIZE = ['# Written from one template for all regions (deploy/hosts).'];

function secretObjects(settings: AgentSettings): string[] {
  const { region, ca } = settings;
  return [
    `# The agents of svc in ${region}: kubectl apply --filename ${region}.yaml`,
    '# Written from one template for all regions (deploy/hosts). It holds the key of the region: keep it secret.',
    'apiVersion: v1',
    'kind: Namespace',
    'metadata:',
    '  name: svc',
    '  labels:',
    '    pod-security.kubernetes.io/enforce: restricted',
    '---',
    'apiVersion: v1',
    'kind: Secret',
    'metadata:',
    `  name: ${nameOf(settings)}`,
    '  namespace: svc',
    'stringData:',
    ...variablesOf(settings).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
    '---',
    ...(ca === null
      ? []
      : [
          'apiVersion: v1',
          'kind: ConfigMap',
          'metadata:',
          `  name: ${nameOf(settings)}`,
          '  namespace: svc',
          'data:',
          '  ca.pem: |',
          indented(ca, 4),
          '---',
        ]),
  ];
}

const nameOf = ({ region }: AgentSettings): string => `svc-agent-${region}`;

function labelsOf({ region }: AgentSettings): string {
  return `{ app.kubernetes.io/name: svc-agent, svc/region: ${region} }`;
}

function deployment(settings: AgentSettings, hasSecrets: boolean): string[] {
  const labels = labelsOf(settings);
  const volume = volumeOfAuthority(settings, hasSecrets);
  return [
    'apiVersion: apps/v1',
    'kind: Deployment',
    'metadata:',
    `  name: ${nameOf(settings)}`,
    '  namespace: svc',
    `  labels: ${labels}`,
    'spec:',
    '  replicas: 2',
    '  selector:',
    `    matchLabels: ${labels}`,
    '  template:',
    '    metadata:',
    `      labels: ${labels}`,
    '    spec:',
    '      automountServiceAccountToken: false',
    '      # Kubernetes would set variables that begin with SVC_ for every service whose name begins with svc.',
    '      enableServiceLinks: false',
    '      # Checks in progress have 10 s to end.',
    '      terminationGracePeriodSeconds: 20',
    '      topologySpreadConstraints:',
    '        - maxSkew: 1',
    '          topologyKey: kubernetes.io/hostname',
    '          whenUnsatisfiable: ScheduleAnyway',
    '          labelSelector:',
    `            matchLabels: ${labels}`,
    ...SECURITY_OF_POD,
    '      containers:',
    '        - name: agent',
    `          image: ${hasSecrets ? settings.image : 'svc-agent'}`,
    '          envFrom:',
    `            - secretRef: { name: ${nameOf(settings)} }`,
    '          env:',
    ...(hasSecrets ? [] : ENVIRONMENT_IN_CLUSTER),
    '            # For the probes below and for readers of the metrics.',
    '            - { name: SVC_AGENT_LISTEN, value: "0.0.0.0:8081" }',
    ...CONTAINER,
    ...(volume === null
      ? []
      : [`            - { name: ca, mountPath: ${CA_PATH}, subPath: ca.pem, readOnly: true }`]),
    '      volumes:',
    '        - name: tmp',
    '          emptyDir: { medium: Memory, sizeLimit: 64Mi }',
    ...(volume ?? []),
  ];
}

/** Inside the cluster agents reach NATS by the name of its service. */
const ENVIRONMENT_IN_CLUSTER = [
  '            - { name: SVC_NATS_URL, value: "tls://svc-nats:4222" }',
  `            - { name: SVC_NATS_CA, value: ${CA_PATH} }`,
];

function volumeOfAuthority(settings: AgentSettings, hasSecrets: boolean): string[] | null {
  if (!hasSecrets)
    return [
      '        - name: ca',
      '          secret:',
      '            secretName: svc-nats',
      '            items: [{ key: ca.pem, path: ca.pem }]',
    ];
  if (settings.ca === null) return null;
  return ['        - name: ca', `          configMap: { name: ${nameOf(settings)} }`];
}

const SECURITY_OF_POD = [
  '      securityContext:',
  '        runAsNonRoot: true',
  '        runAsUser: 65532',
  '        runAsGroup: 65532',
  '        seccompProfile: { type: RuntimeDefault }',
];

const CONTAINER = [
  '          ports:',
  '            - { name: health, containerPort: 8081 }',
  '          livenessProbe:',
  '            httpGet: { path: /healthz, port: health }',
  '            periodSeconds: 10',
  '            timeoutSeconds: 5',
  '            failureThreshold: 6',
  '          readinessProbe:',
  '            httpGet: { path: /readyz, port: health }',
  '            periodSeconds: 5',
  '            timeoutSeconds: 5',
  '          resources:',
  '            requests: { cpu: 50m, memory: 96Mi }',
  '            limits: { memory: 384Mi }',
  '          securityContext:',
  '            allowPrivilegeEscalation: false',
  '            readOnlyRootFilesystem: true',
  '            capabilities: { drop: [ALL] }',
  '          volumeMounts:',
  '            - { name: tmp, mountPath: /tmp }',
];

function disruptionBudget(settings: AgentSettings): string[] {
  return [
    'apiVersion: policy/v1',
    'kind: PodDisruptionBudget',
    'metadata:',
    `  name: ${nameOf(settings)}`,
    '  namespace: svc',
    'spec:',
    '  minAvailable: 1',
    '  selector:',
    `    matchLabels: ${labelsOf(settings)}`,
  ];
}
