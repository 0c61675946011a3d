// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// The framework's own cost, beside the work that no framework can avoid, and its transports beside other clients.
// `swift run -c release pulse-benchmarks` prints the first, `./transports` and `./sockets` the second; `./check` only
// checks that they run. Docs/Benchmarks.md explains the figures.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v12)],
    products: [.library(name: "Contending", targets: ["Contending"])],
    dependencies: [.package(name: "PulseKit", path: "..")],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "pulse-benchmarks",
            dependencies: [
                "CAllocations", "Reporting",
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .target(name: "Reporting"),
        // The system's sqlite3, loaded at run time, without its header.
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .executableTarget(
            name: "queue-benchmarks",
            dependencies: [
                "CSQLite", "Reporting",
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "cache-benchmarks",
            dependencies: [
                "Reporting", .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "metrics-benchmarks",
            dependencies: [
                "Reporting", .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "stream-benchmarks",
            dependencies: [
                "Contending", "Reporting", .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "socket-benchmarks",
            dependencies: [
                "CAllocations", "Contending", "Reporting", .product(name: "PulseKit", package: "PulseKit"),
            ]),
        .target(name: "Contending"),
        .executableTarget(
            name: "transport-benchmarks",
            dependencies: ["Contending", "Reporting", .product(name: "PulseKit", package: "PulseKit")]),
    ],
    swiftLanguageModes: [.v6]
)
