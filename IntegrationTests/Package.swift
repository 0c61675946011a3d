// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Tests against third-party software. Each folder has a `run` that fetches and starts its dependencies; `check` runs
// all.
let package = Package(
    name: "IntegrationTests",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "..")],
    targets: [
        .testTarget(
            name: "EncodingTests",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "encoding/Tests"),
        .testTarget(
            name: "WireTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "wire/Tests"),
        .target(
            name: "LocalServers", dependencies: [.product(name: "PulseKit", package: "PulseKit")], path: "Support"),
        .testTarget(
            name: "StreamTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "streams/Tests"),
        .testTarget(
            name: "SocketTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "sockets/Tests"),
        .testTarget(
            name: "TransferTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "transfers/Tests"),
        .testTarget(
            name: "ServerTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "servers/Tests"),
        .testTarget(
            name: "GraphQLTests", dependencies: ["LocalServers", .product(name: "PulseKit", package: "PulseKit")],
            path: "graphql/Tests"),
        // For tests that need a separate process, environment or file system.
        .executableTarget(
            name: "wire-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "wire/Probe"),
        .executableTarget(
            name: "observability-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "observability/Probe"),
        // For a suite whose server is the judge.
        .executableTarget(
            name: "sockets-probe", dependencies: [.product(name: "PulseKit", package: "PulseKit")],
            path: "sockets/Probe"),
        // For tests that change their network.
        .executableTarget(
            name: "offline-probe", dependencies: [.product(name: "PulseKit", package: "PulseKit")],
            path: "offline/Probe"),
        // For tests that write files for other programs.
        .executableTarget(
            name: "recording-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "recording/Probe"),
    ],
    swiftLanguageModes: [.v6]
)
