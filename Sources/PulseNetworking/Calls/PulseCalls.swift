// SPDX-License-Identifier: MIT

// Re-exported so that an import of the client brings the transports, which are an internal target of their own.
@_exported import PulseTransports
