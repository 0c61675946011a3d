// SPDX-License-Identifier: MIT

// Re-exported so that `import PulseNetworking` brings the transports, which are an internal target of their own.
@_exported import PulseTransports
