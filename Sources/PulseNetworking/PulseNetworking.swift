// SPDX-License-Identifier: MIT

@_exported import PulseGraphQL
@_exported import PulseModels
@_exported import PulseSockets
@_exported import PulseStreams
@_exported import PulseTransfers
